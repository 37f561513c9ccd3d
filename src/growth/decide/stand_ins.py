"""Pods that are not there yet and want a place already; whoever buys machines plans for them.

Two know of such: ``displaced`` (pods that lose their machine and will be made anew) and ``announced`` (pods of a job
that was just admitted). They note them in the snapshot that all look at, before it is decided what to buy. A stand-in
has no object in the cluster, so nothing can be written on it and no key be given to it. When the pod comes that it
stands for, it is gone, and what was bought for it is room for whoever waits: that is this pod.
"""

from collections.abc import Mapping
from typing import Final

from growth.api.pod import Pod
from growth.decide.announced import announced_in, is_announced
from growth.decide.displaced import displaced_in, is_successor
from growth.observe.snapshot import Snapshot

_STAND_INS: Final = "stand-ins"
_WAITING: Final = "pods that wait, and stand-ins"


def stand_ins_in(snapshot: Snapshot) -> Mapping[str, Pod]:
    """All of them, by uid."""
    known = snapshot.memo.get(_STAND_INS)
    if known is None:
        successors = {uid: one.stand_in for uid, one in displaced_in(snapshot).items()}
        known = snapshot.memo[_STAND_INS] = {**successors, **announced_in(snapshot)}
    return known


def waiting_in(snapshot: Snapshot) -> Mapping[str, Pod]:
    """All who want a place, by uid: pods that wait, and stand-ins."""
    stand_ins = stand_ins_in(snapshot)
    if not stand_ins:
        return snapshot.waiting
    known = snapshot.memo.get(_WAITING)
    if known is None:
        known = snapshot.memo[_WAITING] = {**snapshot.waiting, **stand_ins}
    return known


def is_stand_in(uid: str) -> bool:
    """Whether no pod has this uid."""
    return is_successor(uid) or is_announced(uid)
