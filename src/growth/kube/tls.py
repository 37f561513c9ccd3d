"""The TLS context for one access: whom we trust, and which certificate we show."""

import os
import ssl
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

from growth.kube.access import Access
from growth.kube.certificates import ClientCertificate
from growth.kube.credentials import RequestCredentials


def ssl_context(access: Access, presented: RequestCredentials) -> ssl.SSLContext:
    """A context that trusts what the kubeconfig trusts. Make a new one when ``presented.certificate`` changes.

    The name to verify, ``access.tls_server_name``, is not part of a context: give it to each connection.
    """
    context = ssl.create_default_context(cadata=access.ca.decode("ascii") if access.ca else None)
    # As kubectl does (Go): any certificate of the bundle is an anchor, intermediate or root, and private CAs made by
    # older tools without key identifiers are fine. Python 3.13 made the strict reading the default.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if presented.certificate is not None:
        with _as_file(presented.certificate) as path:
            context.load_cert_chain(path)
    return context


@contextmanager
def _as_file(pair: ClientCertificate) -> Generator[str]:
    """A path for OpenSSL, which reads certificates only from files.

    On Linux the file lives in memory: a key should not touch a disk, and a hardened container may have none to write.
    """
    content = pair.key.rstrip() + b"\n" + pair.certificate
    if sys.platform == "linux":
        descriptor = os.memfd_create("client-certificate")
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:  # readable by this user alone
            file.write(content)
            file.flush()
            yield file.name
