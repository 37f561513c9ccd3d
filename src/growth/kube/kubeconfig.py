"""A kubeconfig as text: the fields we read, and one file decoded into them.

Fields that we do not use are skipped; fields that we use must have their type, and the error names the field's path.
Which entries are meant is ``context``'s question, what they are worth ``access``'s and ``identity``'s.

The context that was asked for, out of one kubeconfig or several merged.

Every entry remembers its file: messages name it, and the relative paths in it start there.
"""

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

import msgspec
import yaml

from growth.kube.errors import BadAccess, bytes_of, closest, listed, shown

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


MEND_PATH: Final = "correct the path (relative ones start at the kubeconfig's folder)"

T = TypeVar("T")


class KubeconfigEntry(msgspec.Struct, Generic[T], frozen=True):
    """An entry, and the file it stands in: messages name it, and relative paths start there."""

    name: str
    value: T
    file: Path
    section: str

    def where(self, *fields: str) -> str:
        """The place of a field, for messages."""
        return ".".join((f"kubeconfig {shown(self.file)}, {self.section}s[{self.name}]", self.section, *fields))

    def path(self, written: str) -> Path:
        """The file that a field names, taken from the kubeconfig's own folder if it is relative."""
        return self.file.parent / written

    def content(self, field: str, *, data: str, written: str) -> tuple[bytes, str]:
        """What ``field`` names or ``field-data`` holds (which wins, as with kubectl), and where, for messages."""
        if not data:
            where = self.where(field)
            return bytes_of(self.path(written), where, MEND_PATH), where
        where = self.where(f"{field}-data")
        try:
            return base64.b64decode("".join(data.split()), validate=True), where
        except (binascii.Error, ValueError) as error:
            problem = f"this is not base64 ({len(data)} characters)"
            raise BadAccess(where, problem, f"encode the PEM file with `base64 -w0`, or name it in {field}") from error


class SelectedContext(msgspec.Struct, frozen=True):
    """What a context stands for. ``files`` is how the kubeconfig is called in messages."""

    files: str
    context: KubeconfigEntry[Context]
    cluster: KubeconfigEntry[Cluster]
    user: KubeconfigEntry[User] | None


def choose(paths: Sequence[Path], context: str | None) -> SelectedContext:
    """The context of that name, or the current one, out of files of which earlier ones win.

    As kubectl does, files that do not exist or are empty are passed over as long as another one is there.
    """
    present = [path for path in paths if path.exists()] or list(paths)
    if len(present) > 1 and not present[0].exists():
        raise BadAccess(f"kubeconfig {_shown(present)}", "none of these files exists", OTHER_FILE)
    contents = {path: bytes_of(path, "kubeconfig", OTHER_FILE) for path in present}
    filled = [path for path, content in contents.items() if content.strip()]
    files = _shown(present)
    if not filled:
        raise BadAccess(f"kubeconfig {files}", "the file is empty, expected clusters, users and contexts", OTHER_FILE)
    configs = {path: kubeconfig_in(contents[path], path) for path in filled}

    contexts = _merged(configs, "context", lambda config: ((c.name, c.context) for c in config.contexts))
    clusters = _merged(configs, "cluster", lambda config: ((c.name, c.cluster) for c in config.clusters))
    users = _merged(configs, "user", lambda config: ((u.name, u.user) for u in config.users))
    wanted = context or next((c.current_context for c in configs.values() if c.current_context), "")
    if not wanted:
        problem = f"no current-context is set, and no context was asked for (there are: {listed(contexts)})"
        raise BadAccess(f"kubeconfig {files}", problem, "choose one with --context or `kubectl config use-context`")

    found = contexts.get(wanted)
    if found is None:
        asked = "--context" if context else "current-context"
        problem = f"{asked} is {wanted!r}, which does not exist (there are: {listed(contexts)})"
        near = closest(wanted, contexts)
        step = f"did you mean {near!r}?" if near else "choose one of them with --context"
        raise BadAccess(f"kubeconfig {files}", problem, step)
    cluster = _named(found, "cluster", found.value.cluster, clusters)
    user = _named(found, "user", found.value.user, users) if found.value.user else None
    return SelectedContext(files=files, context=found, cluster=cluster, user=user)


def _merged(
    configs: dict[Path, Kubeconfig], section: str, entries: Callable[[Kubeconfig], Iterable[tuple[str, T]]]
) -> dict[str, KubeconfigEntry[T]]:
    merged: dict[str, KubeconfigEntry[T]] = {}
    for file, config in configs.items():
        for name, value in entries(config):
            merged.setdefault(name, KubeconfigEntry(name, value, file, section))
    return merged


def _named(
    context: KubeconfigEntry[Context], section: str, name: str, known: dict[str, KubeconfigEntry[T]]
) -> KubeconfigEntry[T]:
    found = known.get(name)
    if found is None:
        value = f"it names {name!r}, which does not exist" if name else "it is missing"
        problem = f"{value} (there are: {listed(known)})"
        raise BadAccess(context.where(section), problem, f"add that {section} or correct the context")
    return found


def _shown(paths: Sequence[Path]) -> str:
    return os.pathsep.join(shown(path) for path in paths)
