"""NodePool: which machines Growth may buy, how many, and what their nodes look like."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

import msgspec

from growth.api.disruption import DisruptionBudget
from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.schema import DURATION, NUMBER_OR_SHARE, Rule, about
from growth.api.status import MAX_CONDITIONS, Status, StatusCondition
from growth.api.tolerations import Taint

# A node is named after its pool, "-" and ten characters, and a hostname has at most 63.
MAX_POOL_NAME = 52
MAX_CURRENCY = 16
MAX_SERVER_TYPES = 64

_IS_QUANTITY = Rule(
    "isQuantity(string(self))", "must be a quantity, a whole number or a text such as 64, '1.5', 500m or 256Gi"
)
_NOT_NEGATIVE = Rule(
    "!isQuantity(string(self)) || quantity(string(self)).compareTo(quantity('0')) >= 0", "must not be negative"
)
_HAS_EFFECT = Rule(
    "self.all(taint, has(taint.effect))", "every taint needs an effect: NoSchedule, PreferNoSchedule or NoExecute"
)
_LABEL_VALUE = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"

Word = Annotated[str, msgspec.Meta(max_length=63)]
Reference = Annotated[str, msgspec.Meta(max_length=253)]
"""Something of the provider's, by name or id."""


class ServerType(FrozenValue, frozen=True):
    """A machine type of the provider that the pool may use."""

    name: Annotated[
        str,
        about(
            "The provider's name of the type, such as CAX11; upper and lower case count as the same.",
            Rule(
                "self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",
                "must be a server type's name: letters, digits, '-', '_' and '.', beginning and ending with a letter "
                "or digit",
            ),
            max_length=63,
        ),
    ]
    min: Annotated[int, about("So many are kept even without load.", ge=0, le=100_000)] = 0
    max: Annotated[int, about("Never more than so many; unset means no bound.", ge=0, le=100_000)] | None = None
    priority: Annotated[int, about("Higher is tried first; price decides among equals.", ge=-1000, le=1000)] = 0
    rules: ClassVar = (
        Rule("!has(self.max) || self.min <= self.max", "min must not be greater than max: nobody could satisfy both"),
    )


class Limits(FrozenValue, frozen=True):
    """Upper bounds for all nodes of the pool together."""

    cpu: Annotated[
        int | str | None, about("Cores, as a quantity such as 64 or 1500m.", _IS_QUANTITY, _NOT_NEGATIVE)
    ] = None
    memory: Annotated[int | str | None, about("Memory, as a quantity such as 256Gi.", _IS_QUANTITY, _NOT_NEGATIVE)] = (
        None
    )
    nodes: Annotated[int, about("Number of nodes.", Rule("self >= 0", "must not be negative"), le=100_000)] | None = (
        None
    )
    cost_per_hour: Annotated[
        int | str | None,
        about("Price per hour in the provider's currency, in quotes, such as '1.5'.", _IS_QUANTITY, _NOT_NEGATIVE),
    ] = None


class ScaleDown(FrozenValue, frozen=True):
    """When a node that nobody needs goes away."""

    enabled: Annotated[bool, about("Whether Growth removes nodes of this pool that stand empty.")] = True
    empty_after: Annotated[str, about("How long a node must stand empty.", DURATION, max_length=32)] = "10m"
    unready_after: Annotated[str, about("How long a node must be unready.", DURATION, max_length=32)] = "20m"
    delay_after_scale_up: Annotated[str, about("No removal for so long after a scale-up.", DURATION, max_length=32)] = (
        "10m"
    )
    retry_failed_after: (
        Annotated[
            str, about("A removal that failed is tried again after so long; unset: never.", DURATION, max_length=32)
        ]
        | None
    ) = None
    remove_unreachable: Annotated[
        bool, about("Whether an unreachable node whose machine still runs may be removed; its pods may be alive.")
    ] = False


class Disruption(FrozenValue, frozen=True):
    """How much Growth may disturb at one time by its own choice, and for what."""

    mode: Annotated[
        Literal["off", "observe", "act"],
        about("Whether nodes that work are moved to cheaper ones: act does it, observe tells what could be saved."),
    ] = "observe"
    max_unavailable: Annotated[
        int | str,
        about(
            "So many nodes of the pool, or such a share of them, may be on their way out at one time.", NUMBER_OR_SHARE
        ),
    ] = "10%"
    budgets: Annotated[
        tuple[DisruptionBudget, ...], about("Less than that, for some reasons or at some times.", max_length=16)
    ] = ()
    min_node_age: Annotated[
        str, about("Nodes that are younger stay, unless a person wants them to go.", DURATION, max_length=32)
    ] = "1h"
    expire_after: (
        Annotated[str, about("Nodes that are older are replaced; unset: never.", DURATION, max_length=32)] | None
    ) = None
    min_saving: Annotated[
        str,
        about(
            "A move saves at least this share of what the nodes cost that go.",
            Rule("self.matches('^([0-9]{1,2}|100)%$')", "must be a share such as 5%"),
            max_length=4,
        ),
    ] = "5%"
    pay_back_within: Annotated[
        str,
        about(
            "By then a move has saved what it costs to have two machines for a while and to start pods anew.",
            DURATION,
            max_length=32,
        ),
    ] = "1h"


class UserDataSecret(FrozenValue, frozen=True):
    """Where the start-up script of the machines is kept: a key of a Secret in Growth's own namespace."""

    name: Annotated[str, about("Name of the Secret.", max_length=253)]
    key: Annotated[str, about("Key in the Secret.", max_length=253)] = "user-data"


class Reserved(FrozenValue, frozen=True):
    """What the system keeps on each node for itself, so that no pod is planned there."""

    cpu: Annotated[int | str | None, about("Cores, such as 100m.", _IS_QUANTITY, _NOT_NEGATIVE)] = None
    memory: Annotated[int | str | None, about("Memory, such as 500Mi.", _IS_QUANTITY, _NOT_NEGATIVE)] = None
    ephemeral_storage: Annotated[int | str | None, about("Disk, such as 5Gi.", _IS_QUANTITY, _NOT_NEGATIVE)] = None


class MachineTemplate(FrozenValue, frozen=True):
    """What only the provider understands."""

    image: Annotated[
        str, about("Operating system image: the provider's name or id of it, or a label selector.", max_length=253)
    ] = ""
    network: Annotated[str, about("Private network, by the provider's name or id.", max_length=253)] = ""
    ssh_keys: Annotated[
        tuple[Reference, ...], about("SSH keys that may log in, by the provider's names or ids.", max_length=64)
    ] = ()
    firewalls: Annotated[
        tuple[Reference, ...],
        about("Firewalls of each machine, by the provider's names or ids.", max_length=5),
    ] = ()
    spread: Annotated[bool, about("Whether no two machines of the pool stand on one host, as far as possible.")] = False
    public_ipv4: Annotated[bool, about("Whether each machine has a public IPv4 address; it is billed.")] = (
        msgspec.field(name="publicIPv4", default=True)
    )
    public_ipv6: Annotated[bool, about("Whether each machine has a public IPv6 network.")] = msgspec.field(
        name="publicIPv6", default=True
    )
    user_data_secret: UserDataSecret | None = None
    reserved: Reserved = Reserved()


class NodePoolSpec(FrozenValue, frozen=True):
    """What the pool is made of."""

    provider: Annotated[
        str, about("Which provider's machines; unset means the only one that is enabled.", max_length=63)
    ] = ""
    server_types: Annotated[
        tuple[ServerType, ...],
        about(
            "The machine types that may be bought.",
            Rule(
                "self.all(one, self.exists_one(other, one.name.lowerAscii() == other.name.lowerAscii()))",
                "two server types have the same name (upper and lower case count as the same)",
            ),
            max_length=MAX_SERVER_TYPES,
        ),
    ] = ()
    priority: Annotated[
        int, about("Pools with a higher number are tried first; price decides among equals.", ge=-1000, le=1000)
    ] = 0
    locations: Annotated[
        tuple[Word, ...], about("Where machines may stand; none named means anywhere.", max_length=32)
    ] = ()
    labels: Annotated[
        dict[str, Word],
        about(
            "Labels of every node of the pool.",
            Rule("self.all(key, !key.startsWith('growth.dev/'))", "labels under growth.dev/ are set by Growth itself"),
            Rule(
                "self.all(key, key.size() <= 317 && !format.qualifiedName().validate(key).hasValue())",
                "every key must be a label key such as team or example.org/team",
            ),
            Rule(
                f"self.all(key, self[key].matches('{_LABEL_VALUE}'))",
                "every value must be a label value: up to 63 letters, digits, '-', '_' and '.'",
            ),
            max_length=64,
        ),
    ] = {}
    taints: Annotated[
        tuple[Taint, ...], about("Taints of every node of the pool, for good.", _HAS_EFFECT, max_length=32)
    ] = ()
    startup_taints: Annotated[
        tuple[Taint, ...], about("Taints that others remove once a new node is prepared.", _HAS_EFFECT, max_length=32)
    ] = ()
    limits: Limits = Limits()
    scale_down: ScaleDown = ScaleDown()
    disruption: Disruption = Disruption()
    deletion_policy: Annotated[
        Literal["Drain", "Orphan"],
        about("What becomes of the machines when the pool is deleted: drained and removed, or left alone."),
    ] = "Drain"
    machine: MachineTemplate = MachineTemplate()
    rules: ClassVar = (
        Rule("has(self.serverTypes) && size(self.serverTypes) > 0", "a NodePool needs at least one server type"),
    )


class NodeCounts(Status, frozen=True):
    """Nodes of the pool by the state that the registry sees them in."""

    coming: Annotated[int, about("Bought, not registered yet.", ge=0)] = 0
    starting: Annotated[int, about("Registered, not ready yet.", ge=0)] = 0
    ready: Annotated[int, about("Ready.", ge=0)] = 0
    unready: Annotated[int, about("Unready without a good reason.", ge=0)] = 0
    failed: Annotated[int, about("Registered, and not ready in time.", ge=0)] = 0
    missing: Annotated[int, about("Asked for, and not there in time.", ge=0)] = 0
    leaving: Annotated[int, about("Being removed.", ge=0)] = 0
    stuck: Annotated[int, about("Could not be removed, and cost: a person must look.", ge=0)] = 0


class Unhealthy(FrozenValue, frozen=True):
    """A pool, or one thing that it buys, of which too much is amiss: no more of it is bought until it improves."""

    offering: Annotated[str, about("The offering's id; unset: the pool as a whole.", max_length=253)] = ""
    since: Annotated[datetime | None, about("Since when.")] = None
    message: Annotated[str, about("What is amiss, in words.", max_length=1024)] = ""


class OfferingStatus(FrozenValue, frozen=True):
    """What was learnt about an offering: that it could not be had, or that its nodes are smaller than promised."""

    offering: Annotated[
        str,
        about(
            "The offering's id, such as hetzner-cax11-fsn1, hetzner-ccx* for a family, a provider's name for all.",
            max_length=253,
        ),
    ]
    level: Annotated[int, about("How many times in a row it could not be had; each level waits longer.", ge=0)] = 0
    since: Annotated[datetime | None, about("When something last went wrong with it.")] = None
    until: Annotated[datetime | None, about("When it is tried again, with one machine first.")] = None
    available_since: Annotated[datetime | None, about("When one could be had again after that.")] = None
    reason: Annotated[str, about("What went wrong, as one word.", max_length=63)] = ""
    message: Annotated[str, about("What went wrong, in words.", max_length=1024)] = ""
    lacks: Annotated[
        dict[str, str],
        about("How much less its nodes have for pods than was promised; below zero: more.", max_length=32),
    ] = {}
    image: Annotated[str, about("With which image of machines that was measured.", max_length=253)] = ""
    surprises: Annotated[
        int, about("How many times a node was smaller than was believed; after two it is not bought.", ge=0)
    ] = 0


class FailedLaunches(FrozenValue, frozen=True):
    """Machines of one offering that were launched for the pool and never became working nodes."""

    offering: Annotated[str, about("The offering's id, such as hetzner-cax11-fsn1.", max_length=253)]
    failures: Annotated[int, about("Machines in a row that never worked; 0: the last one worked.", ge=0)] = 0
    rounds: Annotated[int, about("Launches after a known failure, in a row; each one doubles the wait.", ge=0)] = 0
    since: Annotated[datetime | None, about("When the first of these machines was requested.")] = None
    launched_at: Annotated[datetime | None, about("When the last of them was requested.")] = None
    last_at: Annotated[datetime | None, about("When the last of them was given up.")] = None
    worked_at: Annotated[datetime | None, about("When the newest working node of the offering registered.")] = None
    retry_at: Annotated[datetime | None, about("When one more is launched beside a working offering.")] = None
    reason: Annotated[str, about("What became of the last one: NoNode, NeverReady or MachineGone.", max_length=63)] = ""
    message: Annotated[str, about("What became of the last one, as a sentence.", max_length=1024)] = ""
    template: Annotated[
        str, about("The pool's template at that time; another one is not suspected.", max_length=63)
    ] = ""


class Wasted(Status, frozen=True):
    """Machines of the pool that were paid for and never worked, since the pool was created."""

    machines: Annotated[int, about("How many.", ge=0)] = 0
    cost: Annotated[
        str, about("What they cost at their hourly price, in the currency of costPerHour.", max_length=32)
    ] = "0"
    counted: Annotated[
        tuple[str, ...], about("Uids of NodeRequests that these figures include and that still exist.", max_length=4096)
    ] = ()


class NodePoolStatus(Status, frozen=True):
    """What Growth last saw of the pool."""

    nodes: NodeCounts | None = None
    cost_per_hour: Annotated[
        str, about("Price per hour of the pool's machines, in the provider's currency.", max_length=32)
    ] = ""
    conditions: Annotated[
        tuple[StatusCondition, ...], about("Statements about the pool.", max_length=MAX_CONDITIONS)
    ] = ()
    offerings: Annotated[tuple[OfferingStatus, ...], about("Offerings that are backed off.", max_length=256)] = ()
    failed_launches: Annotated[
        tuple[FailedLaunches, ...],
        about("Offerings whose machines never became working nodes; what they share is suspected.", max_length=256),
    ] = ()
    wasted: Annotated[Wasted, about("Machines that were paid for and never worked.")] = Wasted()
    unhealthy: Annotated[
        tuple[Unhealthy, ...], about("What is not launched because too much of it fails.", max_length=256)
    ] = ()
    missing_since: Annotated[datetime | None, about("Since when the one is asked for that is missing for longest.")] = (
        None
    )
    currency: Annotated[
        str, about("Of costPerHour, such as EUR; unset: the provider names none.", max_length=MAX_CURRENCY)
    ] = ""


class NodePool(FrozenValue, frozen=True):
    """A set of machine types from which Growth buys nodes, within limits, for the pods that ask for this pool."""

    metadata: ObjectMeta
    spec: NodePoolSpec
    status: NodePoolStatus = NodePoolStatus()
    rules: ClassVar = (
        Rule(
            f"self.metadata.name.size() <= {MAX_POOL_NAME}",
            f"a pool's name has at most {MAX_POOL_NAME} characters, because its nodes are named after it",
        ),
    )
