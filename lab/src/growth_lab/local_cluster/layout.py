"""Where things lie: one folder per cluster, one cache per user. Pure; nothing here touches the disk."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from growth_lab.local_cluster.errors import BadName

_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?")


class Layout(msgspec.Struct, frozen=True):
    """The files of one cluster. All of them are below ``root``, so removing it leaves nothing."""

    root: Path

    @property
    def name(self) -> str:
        """The cluster's name is its folder's."""
        return self.root.name

    @property
    def record(self) -> Path:
        """Who runs here: see ``state.Record``."""
        return self.root / "state.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.kubeconfig_of("admin")

    def kubeconfig_of(self, user: str) -> Path:
        """The kubeconfig of a component or of a ServiceAccount."""
        return self.root / "kubeconfig" / f"{user}.yaml"

    def certificate(self, name: str) -> Path:
        """A certificate, PEM."""
        return self.root / "pki" / f"{name}.crt"

    def key(self, name: str) -> Path:
        """A private key, PEM."""
        return self.root / "pki" / f"{name}.key"

    @property
    def logs(self) -> Path:
        """The folder of all logs."""
        return self.root / "logs"

    def log(self, component: str) -> Path:
        """Everything a component said, over all its restarts."""
        return self.logs / f"{component}.log"

    @property
    def data(self) -> Path:
        """What etcd stores."""
        return self.root / "etcd"

    @property
    def home(self) -> Path:
        """The components' HOME and TMPDIR, so that no cache of theirs outlives the cluster."""
        return self.root / "home"


def state_home(environment: Mapping[str, str]) -> Path:
    """The folder of all clusters of this user."""
    return _user_folder(environment, "GROWTH_STATE", "XDG_STATE_HOME", ".local/state") / "clusters"


def cache_home(environment: Mapping[str, str]) -> Path:
    """The folder of what can always be made again."""
    return _user_folder(environment, "GROWTH_CACHE", "XDG_CACHE_HOME", ".cache")


def layout_of(name: str, environment: Mapping[str, str]) -> Layout:
    """The files of the cluster of that name; a name that could leave the folder is refused."""
    if not is_name(name):
        raise BadName(name)
    return Layout(state_home(environment) / name)


def is_name(text: str) -> bool:
    """Whether a cluster can be called so."""
    return _NAME.fullmatch(text) is not None


def _user_folder(environment: Mapping[str, str], own: str, xdg: str, default: str) -> Path:
    if environment.get(own):
        return Path(environment[own]).expanduser().absolute()
    base = environment.get(xdg)
    return (Path(base).absolute() if base else Path(environment.get("HOME") or Path.home()) / default) / "growth"
