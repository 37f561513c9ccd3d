"""From the user of a kubeconfig to credentials.

Of several ways to say who we are, the order is kubectl's: a token file, else a token, else an exec plugin; a client
certificate goes along with any of them. What Kubernetes removed, or what would silently change who we are, is refused
in words.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from growth.kube.certificates import ClientCertificate, client_certificate
from growth.kube.credentials import Credentials, RequestCredentials, StaticCredentials, anonymous, bearer
from growth.kube.errors import BadAccess, bytes_of, shown
from growth.kube.exec_plugin import ExecCredentials, exec_plugin_in
from growth.kube.kubeconfig import MEND_PATH, KubeconfigEntry, User


def credentials_of(user: KubeconfigEntry[User] | None, cluster_info: Callable[[], dict[str, object]]) -> Credentials:
    """What this user presents; ``cluster_info`` is asked only by exec plugins that want it."""
    if user is None:
        return anonymous()
    entry = user.value
    _refuse_what_is_gone(user)
    if entry.exec is not None and not entry.token and not entry.token_file:
        plugin = exec_plugin_in(user, entry.exec, cluster_info)
        return ExecCredentials(plugin, _certificate(user), now=lambda: datetime.now(UTC))
    named = [
        user.path(written)
        for written, data in (
            (entry.client_certificate, entry.client_certificate_data),
            (entry.client_key, entry.client_key_data),
            (entry.token_file, ""),
        )
        if written and not data
    ]
    return StaticCredentials(lambda: _presented(user), named)


def token_in(file: Path, where: str, next_step: str) -> str:
    """The token in a file, which may end in a line break."""
    try:
        return bytes_of(file, where, next_step).decode("ascii").strip()
    except UnicodeDecodeError as error:
        raise BadAccess(where, f"{shown(file)} holds no token, expected one line of ASCII", next_step) from error


def _presented(user: KubeconfigEntry[User]) -> RequestCredentials:
    entry, certificate = user.value, _certificate(user)
    if entry.token_file:
        where = user.where("tokenFile")
        return bearer(token_in(user.path(entry.token_file), where, MEND_PATH), where, certificate)
    if entry.token:
        return bearer(entry.token, user.where("token"), certificate)
    return RequestCredentials(certificate=certificate)


def _certificate(user: KubeconfigEntry[User]) -> ClientCertificate | None:
    entry = user.value
    has_certificate = bool(entry.client_certificate or entry.client_certificate_data)
    has_key = bool(entry.client_key or entry.client_key_data)
    if not has_certificate and not has_key:
        return None
    if not has_key:
        raise BadAccess(user.where("client-key"), "it is missing beside the client certificate", "add the key")
    if not has_certificate:
        raise BadAccess(user.where("client-certificate"), "it is missing beside the key", "add the certificate")
    pem, where = user.content(
        "client-certificate", data=entry.client_certificate_data, written=entry.client_certificate
    )
    key, key_where = user.content("client-key", data=entry.client_key_data, written=entry.client_key)
    return client_certificate(pem, key, where=where, key_where=key_where, owner=f"user {user.name}")


def _refuse_what_is_gone(user: KubeconfigEntry[User]) -> None:
    entry = user.value
    if entry.as_user or entry.as_uid or entry.as_groups or entry.as_user_extra:
        problem = "impersonation is not supported, and leaving it out would act with other rights than asked for"
        raise BadAccess(user.where("as"), problem, "make a user or service account with just these rights")
    another = (entry.token, entry.token_file, entry.exec, entry.client_certificate, entry.client_certificate_data)
    if any(another):
        return
    if entry.auth_provider is not None:
        problem = "auth-provider was removed in Kubernetes 1.26"
        raise BadAccess(user.where("auth-provider"), problem, "use the provider's exec plugin instead")
    if entry.username:
        problem = "basic authentication was removed in Kubernetes 1.19"
        raise BadAccess(user.where("username"), problem, "use a token, a client certificate or an exec plugin instead")
