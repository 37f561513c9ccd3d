"""What ``growth doctor`` found, as one value; ``--output json`` prints it."""

from enum import StrEnum

import msgspec


class KindState(StrEnum):
    """How a kind that some capability needs is served."""

    SAME = "Same"
    """As this version of Growth defines it. For kinds that others define: it is served."""
    DIFFERENT = "Different"
    """One of ours, as another version of Growth defines it."""
    MISSING = "Missing"
    UNKNOWN = "Unknown"
    """It is served; the current user may not read its definition, so nothing compared them."""


class MissingFeature(msgspec.Struct, frozen=True):
    """Something of Kubernetes that this server lacks, and what follows for the capabilities that use it."""

    name: str
    since: str
    capabilities: tuple[str, ...]
    without: str


class FoundKind(msgspec.Struct, frozen=True):
    """One kind, and which enabled capabilities cannot work without it."""

    kind: str
    group_version: str
    state: KindState
    capabilities: tuple[str, ...]
    detail: str = ""
    """Where a definition differs first."""


class MissingPermission(msgspec.Struct, frozen=True):
    """What the current user may not do, and which enabled capabilities or providers need it."""

    permission: str
    needed_by: tuple[str, ...]


class DoctorReport(msgspec.Struct, frozen=True):
    """Everything that one look found."""

    growth: str
    server: str
    version: str
    is_tested: bool
    """Whether Growth is tested on this minor release."""
    user: str
    capabilities: tuple[str, ...]
    """Those that the settings and ``--only`` enable."""
    missing_features: tuple[MissingFeature, ...]
    kinds: tuple[FoundKind, ...]
    missing_permissions: tuple[MissingPermission, ...]
    permissions: int
    """How many were asked for."""

    @property
    def unusable_kinds(self) -> tuple[FoundKind, ...]:
        """Kinds that stop a capability."""
        return tuple(one for one in self.kinds if one.state in (KindState.MISSING, KindState.DIFFERENT))

    @property
    def stopped(self) -> tuple[str, ...]:
        """Capabilities, and providers, that lack something they cannot work without."""
        by_kinds = (name for one in self.unusable_kinds for name in one.capabilities)
        by_permissions = (name for one in self.missing_permissions for name in one.needed_by)
        return tuple(dict.fromkeys((*by_kinds, *by_permissions)))

    @property
    def exit_code(self) -> int:
        """1 if something stops an enabled capability."""
        return 1 if self.stopped else 0
