"""Certificates and keys, looked at before they are used.

OpenSSL would refuse an expired or foreign certificate too, but only in the middle of a handshake and in words that name
neither the file nor the date. Looking first costs a millisecond and tells both.
"""

from datetime import UTC, datetime

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import Certificate, load_pem_x509_certificates

from growth.kube.errors import BadAccess

_RENEW = "renew it or take a kubeconfig that is still valid"


class ClientCertificate(msgspec.Struct, frozen=True):
    """A certificate (with its chain) and its key, both PEM. Equal values mean that a TLS context may be reused."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "ClientCertificate(...)"  # a key must never reach a log


def client_certificate(certificate: bytes, key: bytes, *, where: str, key_where: str, owner: str) -> ClientCertificate:
    """The pair, once it is clear that it is valid now and that its halves belong together."""
    leaf = _certificates_in(certificate, where, "put the user's certificate there")[0]
    now = datetime.now(UTC)
    if leaf.not_valid_after_utc < now:
        problem = f"the client certificate of {owner} expired on {day(leaf.not_valid_after_utc)}"
        raise BadAccess(where, problem, _RENEW)
    if leaf.not_valid_before_utc > now:
        problem = f"the client certificate of {owner} is not valid before {day(leaf.not_valid_before_utc)}"
        raise BadAccess(where, problem, f"check this machine's clock, which says {day(now)}")
    try:
        private = load_pem_private_key(key, password=None)
    except TypeError as error:  # how cryptography says that a passphrase is missing
        problem = "the key is encrypted, expected one without a passphrase"
        raise BadAccess(key_where, problem, "decrypt it, for example with `openssl pkey`") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        problem = f"this is no private key ({len(key)} bytes), expected PEM"
        raise BadAccess(key_where, problem, "put the key of the client certificate there") from error
    if private.public_key() != leaf.public_key():
        problem = f"the key does not belong to the client certificate of {owner}"
        raise BadAccess(key_where, problem, "take certificate and key from the same source")
    return ClientCertificate(certificate=certificate, key=key)


def authority(pem: bytes, *, where: str, owner: str) -> bytes:
    """The certificates to trust for a cluster, as clean PEM without the comments that bundles often carry."""
    certificates = _certificates_in(pem, where, f"put the CA of {owner} there")
    last = max(certificate.not_valid_after_utc for certificate in certificates)
    if last < datetime.now(UTC):  # of a bundle in rotation, one that still holds is enough
        problem = f"the certificate authority of {owner} expired on {day(last)}"
        raise BadAccess(where, problem, "take the cluster's present CA")
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def day(instant: datetime) -> str:
    """An instant as people compare it with their calendar and clock."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _certificates_in(pem: bytes, where: str, next_step: str) -> list[Certificate]:
    try:
        return load_pem_x509_certificates(pem)
    except ValueError as error:
        problem = f"this is no certificate ({len(pem)} bytes), expected PEM"
        raise BadAccess(where, problem, next_step) from error
