# Growth as an image; none is published yet.
#   docker build --tag REGISTRY/growth:0.1.0 . && docker push REGISTRY/growth:0.1.0
#   growth manifests --image REGISTRY/growth:0.1.0 | kubectl apply --server-side -f -

FROM python:3.11-slim AS build
WORKDIR /source
# Every wheel is checked against the hashes of the lock here, and nothing is asked of the network after this step. The
# lock has the build backend, too: it builds our own wheel, and is left behind with this stage. The lab is not installed.
COPY requirements/lab.lock ./
RUN pip wheel --no-cache-dir --require-hashes --requirement lab.lock --wheel-dir /wheels
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-index --find-links /wheels --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/growth \
    && /opt/growth/bin/pip install --no-cache-dir --no-index --find-links /wheels growth

FROM python:3.11-slim
COPY --from=build /opt/growth /opt/growth
ENV PATH=/opt/growth/bin:$PATH
# A number, so that kubelet can see that it is not root (runAsNonRoot).
USER 65532:65532
ENTRYPOINT ["growth"]
CMD ["--help"]
