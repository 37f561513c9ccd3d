"""The context that was asked for, out of one kubeconfig or several merged.

Every entry remembers its file: messages name it, and the relative paths in it start there.
"""

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from growth.kube.bad_access import bytes_of, closest, listed, shown
from growth.kube.errors import BadAccess
from growth.kube.kubeconfig import OTHER_FILE, Cluster, Context, Kubeconfig, User, kubeconfig_in

MEND_PATH: Final = "correct the path (relative ones start at the kubeconfig's folder)"

T = TypeVar("T")


class Found(msgspec.Struct, Generic[T], frozen=True):
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


class Chosen(msgspec.Struct, frozen=True):
    """What a context stands for. ``files`` is how the kubeconfig is called in messages."""

    files: str
    context: Found[Context]
    cluster: Found[Cluster]
    user: Found[User] | None


def choose(paths: Sequence[Path], context: str | None) -> Chosen:
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
    return Chosen(files=files, context=found, cluster=cluster, user=user)


def _merged(
    configs: dict[Path, Kubeconfig], section: str, entries: Callable[[Kubeconfig], Iterable[tuple[str, T]]]
) -> dict[str, Found[T]]:
    merged: dict[str, Found[T]] = {}
    for file, config in configs.items():
        for name, value in entries(config):
            merged.setdefault(name, Found(name, value, file, section))
    return merged


def _named(context: Found[Context], section: str, name: str, known: dict[str, Found[T]]) -> Found[T]:
    found = known.get(name)
    if found is None:
        value = f"it names {name!r}, which does not exist" if name else "it is missing"
        problem = f"{value} (there are: {listed(known)})"
        raise BadAccess(context.where(section), problem, f"add that {section} or correct the context")
    return found


def _shown(paths: Sequence[Path]) -> str:
    return os.pathsep.join(shown(path) for path in paths)
