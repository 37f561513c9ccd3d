"""From a kubeconfig or a pod's service account to what is needed to speak to an API server.

Everything that can be known to be wrong without the network is told here, in one sentence (``BadAccess``): a client
that starts with an expired certificate would otherwise only hear "bad certificate" from the other end.
Why this is not a library's work: docs/decisions/0001-our-own-kubeconfig-reader.md.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from growth.kube.certificates import authority
from growth.kube.credentials import Credentials, StaticCredentials, bearer
from growth.kube.errors import BadAccess, bytes_of, shown
from growth.kube.exec_plugin import cluster_info
from growth.kube.kubeconfig import Cluster, KubeconfigEntry, choose
from growth.kube.user_credentials import credentials_of, token_in

__all__ = ["Access", "BadAccess", "access_from_kubeconfig", "access_in_cluster", "find_access"]

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where kubelet puts a pod's own credentials."""


class Access(msgspec.Struct, frozen=True):
    """Where the API server is, whom to trust there and who we are."""

    server: str
    """Without a slash at the end; may have a path, as behind Rancher."""
    origin: str
    """For messages: who told us all this."""
    namespace: str
    credentials: Credentials
    ca: bytes | None = None
    """PEM; None trusts what the system trusts."""
    verify: bool = True
    tls_server_name: str | None = None
    """The name to expect in the server's certificate, if it is not the one in ``server``."""
    proxy_url: str | None = None


def find_access(kubeconfig: Path | None, context: str | None, service_account: Path = SERVICE_ACCOUNT) -> Access:
    """The access that was meant: the named file, else $KUBECONFIG, else the pod we run in, else ~/.kube/config.

    Whoever asks for a context means a kubeconfig, so the pod's own account is passed over then.
    """
    if kubeconfig is not None or os.environ.get("KUBECONFIG"):
        return access_from_kubeconfig(kubeconfig, context)
    host, token = os.environ.get("KUBERNETES_SERVICE_HOST"), service_account / "token"
    if context is None and host and token.exists():
        return access_in_cluster(os.environ, service_account)
    home = _home_kubeconfig()
    if home.exists():
        return access_from_kubeconfig(home, context)
    if context is not None:
        pod = "a pod's own account has no contexts"
    elif not host:
        pod = "this is no pod (KUBERNETES_SERVICE_HOST is not set)"
    else:
        pod = f"this pod has no account ({token} does not exist)"
    looked = f"--kubeconfig is not given, KUBECONFIG is not set, {pod}, {shown(home)} does not exist"
    problem = f"nothing tells where one is ({looked})"
    raise BadAccess("access to a Kubernetes cluster", problem, "name a kubeconfig with --kubeconfig")


def access_from_kubeconfig(path: Path | None = None, context: str | None = None) -> Access:
    """What a context of a kubeconfig says; without a path, of $KUBECONFIG (several files merge) or ~/.kube/config."""
    chosen = choose([path.expanduser()] if path is not None else _default_kubeconfigs(), context)
    cluster = chosen.cluster
    server = _server(cluster)
    ca = _authority(cluster)
    return Access(
        server=server,
        origin=f"kubeconfig {chosen.files}, context {chosen.context.name}",
        namespace=chosen.context.value.namespace or "default",
        credentials=credentials_of(chosen.user, lambda: cluster_info(cluster.value, ca)),
        ca=ca,
        verify=not cluster.value.insecure_skip_tls_verify,
        tls_server_name=cluster.value.tls_server_name or None,
        proxy_url=_proxy(cluster),
    )


def access_in_cluster(environment: Mapping[str, str] = os.environ, service_account: Path = SERVICE_ACCOUNT) -> Access:
    """What kubelet gives every pod. The token is read again whenever kubelet renews it."""
    where = "in-cluster service account"
    step = "run in a pod with automountServiceAccountToken, or name a kubeconfig with --kubeconfig"
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        missing = "KUBERNETES_SERVICE_HOST" if not host else "KUBERNETES_SERVICE_PORT"
        raise BadAccess(where, f"{missing} is not set, so this is no pod", step)
    authority_file, token_file = service_account / "ca.crt", service_account / "token"
    namespace_file = service_account / "namespace"
    namespace = namespace_file.read_text("utf-8").strip() if namespace_file.is_file() else ""
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        origin=where,
        namespace=namespace or "default",
        credentials=StaticCredentials(
            lambda: bearer(token_in(token_file, where, step), f"{where}, {shown(token_file)}"), [token_file]
        ),
        ca=authority(
            bytes_of(authority_file, where, step), where=f"{where}, {shown(authority_file)}", owner="this cluster"
        ),
    )


def _home_kubeconfig() -> Path:
    return Path("~/.kube/config").expanduser() if os.environ.get("HOME") else Path("~/.kube/config")


def _default_kubeconfigs() -> list[Path]:
    named = [Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return named or [_home_kubeconfig()]


def _authority(cluster: KubeconfigEntry[Cluster]) -> bytes | None:
    entry = cluster.value
    if not entry.certificate_authority and not entry.certificate_authority_data:
        return None
    pem, where = cluster.content(
        "certificate-authority", data=entry.certificate_authority_data, written=entry.certificate_authority
    )
    if entry.insecure_skip_tls_verify:
        problem = "a certificate authority and insecure-skip-tls-verify contradict each other"
        raise BadAccess(where, problem, "remove insecure-skip-tls-verify")
    return authority(pem, where=where, owner=f"cluster {cluster.name}")


def _server(cluster: KubeconfigEntry[Cluster]) -> str:
    written, where = cluster.value.server, cluster.where("server")
    expected = "expected a URL such as https://10.0.0.1:6443"
    if not written:
        raise BadAccess(where, f"it is missing, {expected}", "add the server's URL")
    parts = _url(written)
    if parts is None or parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username:
        value = "a URL with a user in it" if "@" in written else repr(written)
        raise BadAccess(where, f"it is {value}, {expected}", "correct the server's URL")
    return written.rstrip("/")


def _proxy(cluster: KubeconfigEntry[Cluster]) -> str | None:
    written, where = cluster.value.proxy_url, cluster.where("proxy-url")
    if not written:
        return None
    parts = _url(written)
    if parts is None or parts.scheme not in ("http", "https"):
        value = f"a {parts.scheme} proxy" if parts else "no URL"
        raise BadAccess(
            where, f"it is {value}, expected an http or https proxy", "name such a proxy or remove the field"
        )
    return written


def _url(written: str) -> SplitResult | None:
    try:
        parts = urlsplit(written)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a broken IPv6 address
        return None
    return parts if is_whole else None
