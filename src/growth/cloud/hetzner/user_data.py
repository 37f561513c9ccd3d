"""User data: a text with placeholders becomes what one server is told when it first boots.

The text comes from a Secret and is never shown: an error names where it stands, the placeholder or the size, and
nothing else of it. What is put in is checked first: names, labels and taints have an alphabet without quotes, spaces
or line ends, so that they cannot break out of the YAML, JSON or shell in which they stand. All is put in at once, so
that a label's value that looks like a placeholder stays what it is. Recipes: docs/hetzner.md.

The user data of one machine: read from its Secret when it is bought, with a join token if it asks for one.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from growth.api.labels import is_hostname, is_label_key, is_label_value
from growth.api.machine import MachineRequest
from growth.api.meta import FrozenValue
from growth.api.offering import ARCH, HOSTNAME, INSTANCE_TYPE, OS, REGION, ZONE
from growth.api.tolerations import EFFECTS, Taint
from growth.cloud.errors import Invalid
from growth.cloud.hetzner.join_tokens import STAND_IN, JoinTokens
from growth.cloud.hetzner.secrets import place_of, secret_text
from growth.kube.client import Client

MOST_BYTES: Final = 32 * 1024
"""Hetzner takes no more."""
JOIN_TOKEN: Final = "__GROWTH_JOIN_TOKEN__"  # noqa: S105 - a placeholder

# Everything that begins like a placeholder, however it goes on: what is misspelled must not reach a server.
_PLACEHOLDER: Final = re.compile(r"__GROWTH_(?:[A-Z0-9]+(?:_[A-Z0-9]+)*__)?", re.IGNORECASE)

_SEEN_BY_KUBELET: Final = frozenset({HOSTNAME, ARCH, OS, f"beta.{ARCH}", f"beta.{OS}"})
"""A kubelet knows these by itself."""
_TOLD_TO_KUBELET: Final = frozenset({INSTANCE_TYPE, ZONE, REGION})
"""The others of Kubernetes' own labels that a kubelet accepts. With any further one it refuses to start (1.36)."""
_KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBERNETES_DOMAINS: Final = ("kubernetes.io", "k8s.io")


class MachineStart(FrozenValue, frozen=True):
    """What one server must be told."""

    name: str
    pool: str
    cluster: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    join_token: str = ""

    def __repr__(self) -> str:
        return f"Start({self.name!r}, pool={self.pool!r}, cluster={self.cluster!r})"


def start_of(request: MachineRequest, cluster: str) -> MachineStart:
    """What the server of this request must be told; raises Invalid for a name that cannot stand in a text.

    Labels that no kubelet may give itself are left out: Growth writes them when the node is there.
    """
    labels = {key: value for key, value in request.node_labels.items() if _is_told(key)}
    start = MachineStart(request.name, request.pool, cluster, dict(sorted(labels.items())), request.node_taints)
    _check(start)
    return start


def placeholders_in(text: str, where: str) -> frozenset[str]:
    """The placeholders of a text; raises Invalid for one that nobody knows."""
    for found in _PLACEHOLDER.finditer(text):
        if found[0] not in _VALUES:
            raise _unknown(found[0], f"{where}, line {text.count(chr(10), 0, found.start()) + 1}")
    return frozenset(_PLACEHOLDER.findall(text))


def rendered(text: str, start: MachineStart, where: str) -> str:
    """The text with everything put in; raises Invalid, which says what of it cannot be. ``where`` is the text's place.

    >>> start = Start("web-1", "web", "shop", {"disk": "ssd"}, (Taint("growth.dev/starting", "web-1", "NoSchedule"),))
    >>> rendered("--node-labels=__GROWTH_LABELS__ --register-with-taints=__GROWTH_TAINTS__", start, "Secret s, key k")
    '--node-labels=disk=ssd --register-with-taints=growth.dev/starting=web-1:NoSchedule'
    """
    try:
        values = {name: _VALUES[name](start) for name in placeholders_in(text, where)}
    except _NoMap as error:
        raise Invalid(f"{where}: {error}") from error
    told = _PLACEHOLDER.sub(lambda found: values[found[0]], text)
    size = len(told.encode())
    if size > MOST_BYTES:
        raise Invalid(
            f"{where}: the user data of {start.name} has {size} bytes when everything is put in: "
            f"expected at most {MOST_BYTES}, because Hetzner takes no more"
        )
    return told


class _NoMap(Exception):
    """A map has each key once."""


def _comma(texts: list[str]) -> str:
    return ",".join(texts)


def _json(value: object) -> str:
    """JSON is YAML, too, and with spaces also to old readers of YAML."""
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def _pairs(start: MachineStart) -> list[str]:
    return [f"{key}={value}" for key, value in start.labels.items()]


def _taints(start: MachineStart) -> list[str]:
    return [str(taint) for taint in start.taints]


def _taints_map(start: MachineStart) -> dict[str, str]:
    found: dict[str, str] = {}
    for taint in start.taints:
        if taint.key in found:
            raise _NoMap(
                f"__GROWTH_TAINTS_MAP__ cannot be put in: the taints of {start.name} name {taint.key} twice, "
                "expected each key once; __GROWTH_TAINTS__ and __GROWTH_TAINTS_LIST__ can hold it"
            )
        found[taint.key] = f"{taint.value}:{taint.effect}" if taint.value else taint.effect
    return found


_VALUES: Final[Mapping[str, Callable[[MachineStart], str]]] = {
    "__GROWTH_NODE_NAME__": lambda start: start.name,
    "__GROWTH_POOL__": lambda start: start.pool,
    "__GROWTH_CLUSTER__": lambda start: start.cluster,
    "__GROWTH_LABELS__": lambda start: _comma(_pairs(start)),
    "__GROWTH_LABELS_LIST__": lambda start: _json(_pairs(start)),
    "__GROWTH_LABELS_MAP__": lambda start: _json(start.labels),
    "__GROWTH_TAINTS__": lambda start: _comma(_taints(start)),
    "__GROWTH_TAINTS_LIST__": lambda start: _json(_taints(start)),
    "__GROWTH_TAINTS_MAP__": lambda start: _json(_taints_map(start)),
    JOIN_TOKEN: lambda start: start.join_token,
}

PLACEHOLDERS: Final = tuple(_VALUES)


def _is_told(key: str) -> bool:
    domain = key.rpartition("/")[0]
    is_kubernetes = any(domain == one or domain.endswith(f".{one}") for one in _KUBERNETES_DOMAINS)
    is_kubelets = any(domain == one or domain.endswith(f".{one}") for one in _KUBELET_DOMAINS)
    return key not in _SEEN_BY_KUBELET and (not is_kubernetes or is_kubelets or key in _TOLD_TO_KUBELET)


def _check(start: MachineStart) -> None:
    """The API server has checked most of it. But here a quote too many would be a command on a server."""
    if not is_hostname(start.name):
        raise _cannot_stand("the node's name", start.name, "up to 63 small letters, digits and '-'")
    if not start.pool or not is_label_value(start.pool):
        raise _cannot_stand("the pool's name", start.pool, "letters, digits, '-', '_' and '.'")
    if not is_hostname(start.cluster):
        raise _cannot_stand("the cluster's name", start.cluster, "up to 63 small letters, digits and '-'")
    pairs = [("label", key, value) for key, value in start.labels.items()]
    pairs += [("taint", taint.key, taint.value) for taint in start.taints]
    for what, key, value in pairs:
        if not is_label_key(key):
            raise _cannot_stand(f"the key of a {what} of {start.name}", key, "a key such as team or example.org/team")
        if not is_label_value(value):
            expected = "up to 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
            raise _cannot_stand(f"the value of the {what} {key} of {start.name}", value, expected)
    for taint in start.taints:
        if taint.effect not in EFFECTS:
            what = f"the effect of the taint {taint.key} of {start.name}"
            raise _cannot_stand(what, taint.effect, f"one of {', '.join(EFFECTS)}")


def _cannot_stand(what: str, value: str, expected: str) -> Invalid:
    return Invalid(f"{what} cannot stand in user data: it is {value!r}, expected {expected}")


def _unknown(found: str, where: str) -> Invalid:
    if not found.endswith("__") or len(found) <= len("__GROWTH_"):
        return Invalid(f"{where}: {found} begins a placeholder that has no end: expected one of {', '.join(_VALUES)}")
    # All begin and end alike: only the words between tell how close two of them are.
    words = {name.removeprefix("__GROWTH_"): name for name in _VALUES}
    close = difflib.get_close_matches(found.upper().removeprefix("__GROWTH_"), words, 1, 0.6)
    hint = f"the closest is {words[close[0]]}" if close else f"expected one of {', '.join(_VALUES)}"
    return Invalid(f"{where}: there is no placeholder {found}: {hint}")


class Renderer:
    """Makes user data. What it makes holds secrets: hand it to the server, and show it to nobody."""

    def __init__(self, client: Client, namespace: str, cluster: str, now: Callable[[], datetime]) -> None:
        self._client = client
        self._namespace = namespace
        self._cluster = cluster
        self._tokens = JoinTokens(client, now)

    async def render(self, request: MachineRequest) -> str:
        """The user data of this machine; empty if its pool names none. Raises a ``ProviderError``.

        All that can be wrong with the text is told before a token is made for it.
        """
        if request.user_data_secret is None:
            return ""
        name, key = request.user_data_secret.name, request.user_data_secret.key
        start = start_of(request, self._cluster)
        text = await secret_text(self._client, self._namespace, name, key)
        where = place_of(self._namespace, name, key)
        told = rendered(text, msgspec.structs.replace(start, join_token=STAND_IN), where)
        if JOIN_TOKEN not in placeholders_in(text, where):
            return told
        token = await self._tokens.token_for(request)
        return rendered(text, msgspec.structs.replace(start, join_token=token), where)
