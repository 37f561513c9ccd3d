"""Every setting of Growth: one class, from which the file's fields, the flags, the variables and the page are made.

To add a setting, add a field here. Its name in the file, ``--flag`` and ``GROWTH_VARIABLE`` follow from where it
stands; its meaning, bounds and default stand beside it. How texts become these values is ``settings_reading``.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, TypeVar

from growth.api.duration import format_duration
from growth.api.settings.node_memory import MemorySettings
from growth.api.settings.queue import QueueSettings
from growth.api.settings.section import DNS_LABEL, Section, meaning

SectionT = TypeVar("SectionT", bound=Section)


class KubeSettings(Section, frozen=True):
    """How Growth reaches the API server."""

    kubeconfig: Annotated[
        str,
        meaning("Path of the kubeconfig; empty means $KUBECONFIG, then the service account, then ~/.kube/config."),
    ] = ""
    context: Annotated[str, meaning("Context of the kubeconfig; empty means its current one.")] = ""
    max_concurrent_requests: Annotated[
        int, meaning("How many requests may be under way at one time.", ge=1, le=4096)
    ] = 64


class LeaderElectionSettings(Section, frozen=True):
    """How the replicas agree on the one that acts."""

    lease_name: Annotated[
        str,
        meaning(
            "Name of the Lease that the replicas contend for.",
            expected="a name of up to 63 small letters, digits and '-'",
            pattern=DNS_LABEL,
        ),
    ] = "growth"
    lease_duration: Annotated[
        timedelta, meaning("Others wait so long after the leader's last sign of life before one takes over.")
    ] = timedelta(seconds=15)
    renew_deadline: Annotated[timedelta, meaning("A leader that could not renew for so long stops acting.")] = (
        timedelta(seconds=10)
    )
    retry_period: Annotated[timedelta, meaning("Time between two attempts to get or renew the Lease.")] = timedelta(
        seconds=2
    )

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """A leader must have stopped before another one may start, and must get more than one try to renew."""
        if self.lease_duration <= self.renew_deadline:
            bound = f"a duration above renewDeadline ({format_duration(self.renew_deadline)})"
            yield "leaseDuration", f"{bound}, so that a leader has stopped before another one starts"
        if self.renew_deadline <= self.retry_period:
            bound = f"a duration above retryPeriod ({format_duration(self.retry_period)})"
            yield "renewDeadline", f"{bound}, so that a leader may try more than once"


class HealthSettings(Section, frozen=True):
    """Where Growth tells how it is: /healthz, /readyz and /metrics."""

    address: Annotated[str, meaning("Address to listen on; empty means all of them.")] = ""
    port: Annotated[int, meaning("Port to listen on; 0 means any that is free.", ge=0, le=65535)] = 8080


_NAMES = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(,[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?\\Z"


class ProvidersSettings(Section, frozen=True):
    """Who has machines for us."""

    enabled: Annotated[
        str,
        meaning(
            "Providers to buy from, separated by commas, such as kwok; empty means that nothing is bought.",
            expected="names of providers, separated by commas and nothing else",
            pattern=_NAMES,
        ),
    ] = ""
    read_every: Annotated[
        timedelta, meaning("Time between two looks at what a provider sells and which machines it has for us.")
    ] = timedelta(seconds=30)

    @property
    def names(self) -> tuple[str, ...]:
        """The providers, each once, in their order."""
        return tuple(dict.fromkeys(name for name in self.enabled.split(",") if name))


class KwokSettings(Section, frozen=True):
    """The provider of machines that cost nothing."""

    catalogue: Annotated[str, meaning("Path of the catalogue file; empty means the one that comes with Growth.")] = ""


class HetznerSettings(Section, frozen=True):
    """The provider of machines in the Hetzner Cloud."""

    cluster_name: Annotated[
        str,
        meaning(
            "Name of this cluster; no other one in the same Hetzner project may have it. Required for hetzner.",
            expected="a name of up to 63 small letters, digits and '-', or nothing where hetzner is not enabled",
            pattern=f"{DNS_LABEL}|^\\Z",
        ),
    ] = ""
    token_secret: Annotated[
        str,
        meaning(
            "Secret in Growth's namespace whose key token holds the API token; empty means the variable HCLOUD_TOKEN.",
            expected="the name of a Secret: small letters, digits, '-' and '.', or nothing",
            pattern="^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?\\Z",
        ),
    ] = ""
    endpoint: Annotated[
        str,
        meaning(
            "Where the API is.",
            expected="an http or https address without a slash at its end, such as https://api.hetzner.cloud/v1",
            pattern="^https?://[^\\s?#]*[^\\s?#/]\\Z",
        ),
    ] = "https://api.hetzner.cloud/v1"
    catalogue_every: Annotated[
        timedelta, meaning("Time between two looks at what is sold, at which price, and what is in stock.")
    ] = timedelta(minutes=10)


class GrowSettings(Section, frozen=True):
    """From pods that wait to machines that are asked for."""

    quiet: Annotated[timedelta, meaning("A plan is made when no new pod has begun to wait for so long.")] = timedelta(
        milliseconds=100
    )
    at_most: Annotated[timedelta, meaning("A plan is made after so long, even if new pods keep coming.")] = timedelta(
        seconds=1
    )
    count_failures_every: Annotated[
        timedelta, meaning("A pod that finds no place is tried again after so long, and counted once in that time.")
    ] = timedelta(seconds=10)
    back_off: Annotated[
        timedelta, meaning("From the third failure on a pod waits so long, twice as long after each further one.")
    ] = timedelta(seconds=30)
    back_off_at_most: Annotated[
        timedelta, meaning("A pod that fails after waiting for so long is in BackOff: it is not tried again by time.")
    ] = timedelta(minutes=10)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """A bound must not be below what it bounds."""
        if self.at_most < self.quiet:
            yield "atMost", f"a duration of at least quiet ({format_duration(self.quiet)})"
        if self.back_off_at_most < self.back_off:
            yield "backOffAtMost", f"a duration of at least backOff ({format_duration(self.back_off)})"


class ProvisionSettings(Section, frozen=True):
    """From a machine that is asked for to a node that works."""

    machine_within: Annotated[
        timedelta, meaning("A machine must be there, and its node registered, within so long after it was asked for.")
    ] = timedelta(minutes=15)
    ready_within: Annotated[timedelta, meaning("After that, the node must be ready within so long.")] = timedelta(
        minutes=15
    )
    keep_ready: Annotated[timedelta, meaning("A NodeRequest that is Ready is kept for so long, to be looked at.")] = (
        timedelta(minutes=10)
    )
    hand_over: Annotated[
        timedelta, meaning("A new node is kept for the pods that it was bought for for so long, then opened to all.")
    ] = timedelta(minutes=1)
    unmet: Annotated[
        timedelta, meaning("An offering that could not be had is left alone for so long, twice as long each time.")
    ] = timedelta(minutes=5)
    unmet_at_most: Annotated[timedelta, meaning("It is never left alone for longer than this.")] = timedelta(minutes=30)
    forget_after: Annotated[
        timedelta, meaning("What went wrong with an offering is forgotten when so long nothing did.")
    ] = timedelta(hours=3)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """A bound must not be below what it bounds."""
        if self.unmet_at_most < self.unmet:
            yield "unmetAtMost", f"a duration of at least unmet ({format_duration(self.unmet)})"


class RemovalSettings(Section, frozen=True):
    """From a machine that nobody needs to none."""

    retry_after: Annotated[
        timedelta, meaning("A provider that was asked to delete a machine is asked again if it is there after so long.")
    ] = timedelta(minutes=2)
    attempts: Annotated[
        int, meaning("A removal has failed when its provider was asked so many times in vain.", ge=1, le=4096)
    ] = 5
    leaked_after: Annotated[
        timedelta,
        meaning("A machine of ours with neither request nor node, which cannot be used, is removed after so long."),
    ] = timedelta(minutes=15)
    delay_after_scale_up_scope: Annotated[
        str,
        meaning(
            "Whose scale-up a pool's scaleDown.delayAfterScaleUp counts from: that of any pool, or its own.",
            expected="cluster or pool",
            pattern="^(cluster|pool)\\Z",
        ),
    ] = "cluster"


class RegistrySettings(Section, frozen=True):
    """When the cluster, or a pool, is in too bad a shape to act in."""

    ok_unready: Annotated[
        int, meaning("So many nodes may be unready without reason, whatever share of the cluster they are.", ge=0)
    ] = 3
    unready_percent: Annotated[
        int,
        meaning("More than this share of nodes unready without reason, in percent, halts everything.", ge=0, le=100),
    ] = 45
    check_every: Annotated[
        timedelta, meaning("An unhealthy cluster is checked after so long; it recovers when all is well for so long.")
    ] = timedelta(seconds=10)
    foreign_halt_at_most: Annotated[
        timedelta, meaning("Unready nodes that are not Growth's halt it for so long at most.")
    ] = timedelta(minutes=30)
    pool_ok_amiss: Annotated[
        int,
        meaning("So many machines of a pool, or of one offering in it, may be amiss, whatever share they are.", ge=0),
    ] = 1
    pool_amiss_percent: Annotated[
        int, meaning("A larger share of them amiss, in percent, and no more are bought.", ge=0, le=100)
    ] = 45
    improves_after: Annotated[
        timedelta, meaning("They are bought again when they have been within these limits for so long.")
    ] = timedelta(minutes=2)


class FailoverSettings(Section, frozen=True):
    """When work is moved off a machine that is dead."""

    mode: Annotated[
        str,
        meaning(
            "What is done about a machine that is proven dead: nothing, telling people what would be done, doing it.",
            expected="off, observe or act",
            pattern="^(off|observe|act)\\Z",
        ),
    ] = "observe"
    speed: Annotated[
        str,
        meaning(
            "Who deletes the pods of a node that is out of service: Growth, at once, or kube-controller-manager.",
            expected="fast or standard",
            pattern="^(fast|standard)\\Z",
        ),
    ] = "fast"
    fence: Annotated[
        bool, meaning("Whether a machine that runs and whose node is silent is powered off, to move its work then.")
    ] = False
    foreign_nodes: Annotated[bool, meaning("Whether nodes that Growth did not buy are taken out of service, too.")] = (
        False
    )
    control_plane: Annotated[
        bool, meaning("Whether nodes of the control plane are, as long as a majority of them works.")
    ] = False
    read_every: Annotated[
        timedelta, meaning("Time between two questions to a provider about a machine whose node is silent.")
    ] = timedelta(seconds=5)
    proven_after: Annotated[
        timedelta, meaning("A machine is dead when its provider has said so, again and again, for so long.")
    ] = timedelta(seconds=10)
    return_after: Annotated[
        timedelta, meaning("A node that came back is taken into service when it has been well for so long.")
    ] = timedelta(seconds=30)


class ConsolidateSettings(Section, frozen=True):
    """How the cluster is made cheaper; what may be done in which pool says its ``disruption``."""

    every: Annotated[timedelta, meaning("Time between two looks for something cheaper.")] = timedelta(minutes=5)
    window: Annotated[
        timedelta, meaning("How much was wanted within so long tells who may come back, and for whom room is kept.")
    ] = timedelta(hours=1)
    drain_within: Annotated[
        timedelta, meaning("If pods that are asked to leave have not left within so long, their move is undone.")
    ] = timedelta(minutes=10)
    kept_for: Annotated[timedelta, meaning("A move that is over is kept for so long, to be looked at.")] = timedelta(
        hours=1
    )


class Settings(Section, frozen=True):
    """All settings."""

    namespace: Annotated[
        str,
        meaning(
            "Namespace in which Growth keeps its own objects.",
            expected="a namespace's name: up to 63 small letters, digits and '-'",
            pattern=DNS_LABEL,
        ),
    ] = "growth-system"
    kube: KubeSettings = KubeSettings()
    leader_election: LeaderElectionSettings = LeaderElectionSettings()
    health: HealthSettings = HealthSettings()
    providers: ProvidersSettings = ProvidersSettings()
    kwok: KwokSettings = KwokSettings()
    hetzner: HetznerSettings = HetznerSettings()
    grow: GrowSettings = GrowSettings()
    provision: ProvisionSettings = ProvisionSettings()
    removal: RemovalSettings = RemovalSettings()
    consolidate: ConsolidateSettings = ConsolidateSettings()
    registry: RegistrySettings = RegistrySettings()
    failover: FailoverSettings = FailoverSettings()
    memory: MemorySettings = MemorySettings()
    queue: QueueSettings = QueueSettings()
    extensions: dict[str, Section] = {}
    """Sections of capabilities from other packages, by the name of the capability."""

    def extension(self, section: type[SectionT]) -> SectionT:
        """Return the section of this class that a capability from another package brings."""
        return next((one for one in self.extensions.values() if isinstance(one, section)), section())

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Servers of two clusters in one project can be told apart by nothing but the cluster's name."""
        if "hetzner" in self.providers.names and not self.hetzner.cluster_name:
            yield "hetzner.clusterName", "the name of this cluster, because providers.enabled names hetzner"
