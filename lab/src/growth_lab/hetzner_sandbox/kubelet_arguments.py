"""What user data tells the kubelet, as far as its node shows it.

User data is a recipe for cloud-init, k3s or Talos, and the sandbox runs none of them. It looks for the kubelet's own
arguments, in the spellings of shells, kubeadm, k3s and JSON:

    --node-labels=growth.dev/pool=default,disk=ssd          --node-label disk=ssd      (k3s)
    node-labels: "growth.dev/pool=default,disk=ssd"         - name: node-labels
    node-label:                                               value: growth.dev/pool=default
      - growth.dev/pool=default                             node-label: ["growth.dev/pool=default", "disk=ssd"]
    --register-with-taints=growth.dev/starting=web-1:NoSchedule     --node-taint ...   (k3s)
    --kube-reserved=cpu=100m,memory=256Mi                   --system-reserved=memory=100Mi
"""

import re
from collections.abc import Iterator
from typing import Final

from growth.api.meta import FrozenValue
from growth.api.quantity import canonical, nano_value
from growth.api.tolerations import EFFECTS, Taint

# Between the key and its list: = or : or a space, quotes, a list's dash, or the next line's "value:".
_BETWEEN: Final = r"""["']?(?:[ \t]*\n[ \t]*value)?[ \t]*[=:\s][\s"'\[-]*"""
_ITEM: Final = r"""[^\s"'\]]+"""
# One item, or several: in lines with a dash, or in quotes with commas between them.
_LIST: Final = rf"""({_ITEM}(?:["']?[ \t]*\n[ \t]*-[ \t]+["']?{_ITEM}|["'],[ \t]*["']{_ITEM})*)"""
# An argument's name, and not the end of a longer word.
_BEFORE: Final = r"(?<![\w./])(?:--)?"


class KubeletArguments(FrozenValue, frozen=True):
    """The labels, the taints and what is kept from pods."""

    labels: dict[str, str]
    taints: tuple[Taint, ...]
    reserved: dict[str, str]


def kubelet_arguments(user_data: str) -> KubeletArguments:
    """Read them; what looks like none of them is not there."""
    taints = (_taint(text) for text in _values(user_data, "register-with-taints|node-taint"))
    return KubeletArguments(
        labels=dict(_pairs(user_data, "node-labels?")),
        taints=tuple(taint for taint in taints if taint is not None),
        # One item each: in k3s' list of arguments, what follows in the next line is another argument.
        reserved=_summed(_pairs(user_data, "kube-reserved|system-reserved", f"({_ITEM})")),
    )


def _values(user_data: str, names: str, shape: str = _LIST) -> Iterator[str]:
    for found in re.finditer(f"{_BEFORE}(?:{names}){_BETWEEN}{shape}", user_data):
        yield from re.split(r"""[\s"',]+(?:-[\s"']+)?""", found[1])


def _pairs(user_data: str, names: str, shape: str = _LIST) -> Iterator[tuple[str, str]]:
    for text in _values(user_data, names, shape):
        key, equals, value = text.partition("=")
        if key and equals:
            yield key, value


def _taint(text: str) -> Taint | None:
    """``key=value:Effect`` or ``key:Effect``."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return Taint(key, value, effect) if effect in EFFECTS else None


def _summed(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    """The system's share and the kubelet's are both kept."""
    total: dict[str, int] = {}
    for name, text in pairs:
        total[name] = total.get(name, 0) + nano_value(text)
    return {name: canonical(f"{amount}n") for name, amount in total.items()}
