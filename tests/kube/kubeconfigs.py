"""Builders for everything a person can hand us to reach a cluster: right by default, wrong in one point on demand."""

import base64
import json
import stat
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from textwrap import dedent

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

TODAY = datetime.now(UTC).replace(microsecond=0)
YEAR = timedelta(days=365)


class Pair:
    """A certificate and its key."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self.key = key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @property
    def locked_key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))


def a_certificate(
    name: str = "alice",
    *,
    issuer: Pair | None = None,
    starts: datetime = TODAY - YEAR,
    ends: datetime = TODAY + YEAR,
    dns: str = "cluster.test",
) -> Pair:
    """A certificate, signed by its issuer or, if there is none, by itself as a CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = x509.SubjectAlternativeName([x509.DNSName(dns), x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(starts)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .sign(issuer.key if issuer else key, hashes.SHA256())
    )
    return Pair(certificate, key)


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def a_jwt(**claims: object) -> str:
    """A token shaped as service accounts' and OIDC's are; nobody checks its signature here."""

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.c2lnbmF0dXJl"


def a_kubeconfig(
    *,
    cluster: dict[str, object] | None = None,
    user: dict[str, object] | None = None,
    context: dict[str, object] | None = None,
    name: str = "dev",
    **top: object,
) -> dict[str, object]:
    """A kubeconfig of one context; ``cluster`` and ``user`` are those entries' own fields."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": "https://10.0.0.1:6443"} if cluster is None else cluster}],
        "users": [{"name": "alice", "user": {"token": "opaque"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "alice"} if context is None else context}],
    } | top


def write(path: Path, content: dict[str, object] | str | bytes) -> Path:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        content = yaml.safe_dump(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def a_plugin(path: Path, program: str) -> Path:
    """An exec plugin: a Python program whose file can be started."""
    write(path, f"#!{sys.executable} -S\nimport json, os, sys\n{dedent(program)}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def an_answer(*, version: str = "v1", **status: object) -> dict[str, object]:
    """What a plugin should print."""
    return {"kind": "ExecCredential", "apiVersion": f"client.authentication.k8s.io/{version}", "status": status}


def an_exec_user(command: Path | str, more: dict[str, object] | None = None, version: str = "v1") -> dict[str, object]:
    """A user whose credentials come from a plugin."""
    return {"exec": {"apiVersion": f"client.authentication.k8s.io/{version}", "command": str(command)} | (more or {})}
