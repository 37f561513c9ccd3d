"""The cluster's own authority: it signs what the components and the administrator prove themselves with.

Keys are P-256: making a dozen of them takes a few milliseconds, RSA would take seconds of every start.
"""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from growth_lab.local_cluster.layout import Layout

SERVICE_IP = "10.96.0.1"  # the first address of --service-cluster-ip-range, where pods reach the API server
_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_ADDRESSES = ("127.0.0.1", "::1", SERVICE_IP)
_LIFE = dt.timedelta(days=3650)
_CLOCK_SKEW = dt.timedelta(minutes=5)

USERS = {
    "admin": ("growth-admin", ("system:masters",)),
    "kube-controller-manager": ("system:kube-controller-manager", ()),
    "kube-scheduler": ("system:kube-scheduler", ()),
    # kwok plays every kubelet at once: there is no role narrower than "all nodes, all pods" that would bound it.
    "kwok": ("growth-kwok", ("system:masters",)),
}
"""Who has a client certificate: the user and groups it proves."""


def write_certificates(layout: Layout) -> None:
    """Make the authority and all it signs; files are readable by their owner only."""
    authority = _Authority()
    _write(layout.certificate("ca"), authority.certificate.public_bytes(serialization.Encoding.PEM))
    _write(layout.key("ca"), _pem(authority.key))
    _write(layout.key("service-account"), _pem(ec.generate_private_key(ec.SECP256R1())))
    # One certificate for every listener, and for the API server towards etcd: all of them are 127.0.0.1.
    subjects: dict[str, tuple[str, Sequence[str]]] = {"server": ("growth-local", ()), **USERS}
    for name, (user, groups) in subjects.items():
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = authority.sign(key.public_key(), user, groups, serving=name == "server")
        _write(layout.certificate(name), certificate.public_bytes(serialization.Encoding.PEM))
        _write(layout.key(name), _pem(key))


class _Authority:
    """A key that signs; it lives as long as the cluster."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _subject("growth-local-ca", ())
        self.now = dt.datetime.now(dt.UTC)
        self.certificate = (
            self._builder(self.name, self.key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def sign(
        self, public_key: ec.EllipticCurvePublicKey, user: str, groups: Sequence[str], *, serving: bool
    ) -> x509.Certificate:
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if serving else [])]
        builder = (
            self._builder(_subject(user, groups), public_key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        if serving:
            builder = builder.add_extension(_alternative_names(), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def _builder(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.now - _CLOCK_SKEW)
            .not_valid_after(self.now + _LIFE)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        )


def _subject(user: str, groups: Sequence[str]) -> x509.Name:
    """Kubernetes reads the user from the common name and the groups from the organisations."""
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            x509.NameAttribute(NameOID.COMMON_NAME, user),
        ]
    )


def _alternative_names() -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName(
        [
            *(x509.DNSName(name) for name in _NAMES),
            *(x509.IPAddress(ipaddress.ip_address(address)) for address in _ADDRESSES),
        ]
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)
