"""A kubeconfig as text: the fields we read, and one file decoded into them.

Fields that we do not use are skipped; fields that we use must have their type, and the error names the field's path.
Which entries are meant is ``context``'s question, what they are worth ``access``'s and ``identity``'s.
"""

from pathlib import Path
from typing import Any, Final, cast

import msgspec
import yaml

from growth.kube.bad_access import shown
from growth.kube.errors import BadAccess

OTHER_FILE: Final = "name another file with --kubeconfig or KUBECONFIG"

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster where libyaml is built in


class NamedExtension(msgspec.Struct, frozen=True):
    """Data that a tool left in a cluster entry; exec plugins may ask for one of them."""

    name: str
    extension: Any = None


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    """Where a cluster is and whom to trust there."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[NamedExtension] = []


class EnvVar(msgspec.Struct, frozen=True):
    """One variable for an exec plugin."""

    name: str
    value: str = ""


class ExecConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A program that prints credentials."""

    api_version: str = ""
    command: str = ""
    args: list[str] = []
    env: list[EnvVar] = []
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """How to say who we are. The last six are read only to be refused in words."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    exec: ExecConfig | None = None
    username: str = ""
    auth_provider: Any = None
    as_user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}

    def __repr__(self) -> str:
        return "User(...)"  # tokens and keys must never reach a log


class Context(msgspec.Struct, frozen=True):
    """A cluster, a user and a namespace that belong together."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct, frozen=True):
    """A cluster as it stands in the list."""

    name: str
    cluster: Cluster = Cluster()


class NamedUser(msgspec.Struct, frozen=True):
    """A user as it stands in the list."""

    name: str
    user: User = User()


class NamedContext(msgspec.Struct, frozen=True):
    """A context as it stands in the list."""

    name: str
    context: Context = Context()


class Kubeconfig(msgspec.Struct, frozen=True, rename="kebab"):
    """One file."""

    clusters: list[NamedCluster] = []
    users: list[NamedUser] = []
    contexts: list[NamedContext] = []
    current_context: str = ""


def kubeconfig_in(content: bytes, file: Path) -> Kubeconfig:
    """The fields of one file."""
    where = f"kubeconfig {shown(file)}"
    try:
        raw: object = yaml.load(content, Loader=_Loader)  # noqa: S506 (a safe loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise BadAccess(where, f"this is not YAML ({place}{error.problem})", "mend that line") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadAccess(where, "this is not YAML (it is not even text)", OTHER_FILE) from error
    if not isinstance(raw, dict):
        raise BadAccess(where, "this is YAML but no kubeconfig, expected `kind: Config`", OTHER_FILE)
    fields = cast("dict[object, object]", _without_nulls(cast("object", raw)))
    kind = fields.get("kind", "Config")
    if kind != "Config":
        raise BadAccess(where, f"kind is {kind!r}, expected 'Config' (a kubeconfig)", OTHER_FILE)
    if not fields.keys() & {"clusters", "contexts", "users", "current-context"}:
        raise BadAccess(where, "this is YAML but no kubeconfig, it has neither clusters nor contexts", OTHER_FILE)
    try:
        return msgspec.convert(fields, Kubeconfig)
    except msgspec.ValidationError as error:
        problem, _, at = str(error).partition(" - at ")
        field = at.strip("`").removeprefix("$.") or "top level"
        raise BadAccess(f"{where}, {field}", problem[:1].lower() + problem[1:], "mend that field") from error


def _without_nulls(value: object) -> object:
    """As Go reads it, ``users: null`` is the same as no users; tools write that for an empty file."""
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return {key: _without_nulls(item) for key, item in pairs if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast("list[object]", value)]
    return value
