"""The official client's way in without a socket: an adapter for its ``requests`` session.

    client = Client(token="sandbox", api_endpoint=ENDPOINT)
    client._client._session.mount(ENDPOINT, Adapter(sandbox))

Nothing waits here, so a client that runs on virtual time can be counted for hours. A slow answer costs time only if
``sleep`` takes some; a client whose own timeout is shorter hears what it would hear from a socket.
"""

import io
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from growth_lab.hetzner_sandbox.messages import Answer, request_from
from growth_lab.hetzner_sandbox.routes import PREFIX
from growth_lab.hetzner_sandbox.sandbox import Sandbox

ENDPOINT: Final = f"http://sandbox{PREFIX}"
"""An address that is never looked up."""

Timeout = float | tuple[float | None, float | None] | None


class Adapter(BaseAdapter):
    """Answers what a session sends."""

    def __init__(self, sandbox: Sandbox, sleep: Callable[[float], None] = lambda _: None) -> None:
        super().__init__()
        self._sandbox, self._sleep = sandbox, sleep

    def send(  # noqa: PLR0917 - the parent's order
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002 - the parent's words, here and below
        timeout: Timeout = None,
        verify: bool | str = True,  # noqa: ARG002, FBT001, FBT002
        cert: object = None,  # noqa: ARG002
        proxies: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> requests.Response:
        """One call. Raises what ``requests`` raises when a connection breaks or is too slow."""
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        if not isinstance(body, bytes):
            raise TypeError(f"a body of {type(body).__name__} cannot be sent here: expected text or bytes")
        asked = request_from(
            request.method or "GET", request.url or "", str(request.headers.get("Authorization", "")), body
        )
        answer = self._sandbox.answer(asked)
        patience = timeout[1] if isinstance(timeout, tuple) else timeout
        if patience is not None and answer.delay_seconds > patience:
            self._sleep(patience)
            raise requests.ReadTimeout(f"no answer within {patience} s", request=request)
        self._sleep(answer.delay_seconds)
        if answer.is_lost:
            raise requests.ConnectionError("the connection was closed without an answer", request=request)
        return _response(request, answer)

    def close(self) -> None:
        """Nothing is open."""


def _response(request: requests.PreparedRequest, answer: Answer) -> requests.Response:
    response = requests.Response()
    response.status_code, response.request, response.url = answer.status, request, request.url or ""
    response.headers = CaseInsensitiveDict({"Content-Type": "application/json", **dict(answer.headers)})
    content = b"" if answer.body is None else msgspec.json.encode(answer.body)
    if isinstance(answer.body, str):
        response.headers["Content-Type"], content = "text/html", answer.body.encode()
    response.raw = io.BytesIO(content)
    return response
