"""Kubeconfig files: self-contained (certificates inside), so one can be copied to another machine or container."""

import base64
from pathlib import Path
from typing import Any

import yaml

from growth_lab.local_cluster.layout import Layout


def server_url(apiserver_port: int) -> str:
    """Where clients find the API server."""
    return f"https://127.0.0.1:{apiserver_port}"


def with_certificate(layout: Layout, apiserver_port: int, user: str) -> str:
    """For one of ``certificates.USERS``."""
    credentials = {
        "client-certificate-data": _inline(layout.certificate(user)),
        "client-key-data": _inline(layout.key(user)),
    }
    return _render(layout, apiserver_port, user, credentials)


def with_token(layout: Layout, apiserver_port: int, user: str, token: str) -> str:
    """For a ServiceAccount."""
    return _render(layout, apiserver_port, user, {"token": token})


def write(path: Path, content: str) -> None:
    """A kubeconfig is a key: only its owner may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(content)


def _render(layout: Layout, apiserver_port: int, user: str, credentials: dict[str, str]) -> str:
    name = f"growth-{layout.name}"
    cluster = {
        "server": server_url(apiserver_port),
        "certificate-authority-data": _inline(layout.certificate("ca")),
    }
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
    }
    return yaml.safe_dump(document, sort_keys=False)


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
