"""Every side effect of Growth by its name: the points at which the crash suite stops it, before and after.

A write whose name is not here fails the suite, and so does a name that no story passes: a side effect that cannot be
stopped at is one of which nobody knows what a crash there does. A new capability adds a line for each of its writes.
"""

from typing import Final

from growth.act.effect_hooks import EffectPoint
from tests.trust.deeds import EVENTS, KWOK, LEASE

MACHINE_POINTS: Final = {
    EffectPoint.CREATE_MACHINE: "buy machine",
    EffectPoint.DELETE_MACHINE: "give machine back",
    EffectPoint.FENCE_MACHINE: "fence machine",
}
"""Providers need not speak through our client, so asking them is a point of its own."""

REGISTER: Final = {
    "take lease": "Whoever leads begins.",
    "renew lease": "The leader is still there.",
    "release lease": "A leader says goodbye.",
    "create leases": "Somebody deleted it.",
    "create events": "People are told.",
    "patch events": "People are told once more.",
    "create growth-status": "How the cluster is, said for the first time.",
    "patch growth-status": "How the cluster is, for people and for the next leader.",
    "create shards": "A shard of memory has something to do for the first time.",
    "take shard": "A replica works on a shard.",
    "renew shard": "There is more to do in it.",
    "release shard": "A replica has more to do than it can begin.",
    "create transactions": "A node came or went.",
    "delete transactions": "What is to be done about that is done.",
    "create memories": "What a node is or was, for the first time.",
    "patch memories": "What it is or was now; who took its place.",
    "delete memories": "A node that has been gone for long is forgotten.",
    "create workloads": "A job or a plain pod is queued.",
    "patch workloads": "A workload is deactivated, or wants what its job wants now.",
    "patch workloads/status": "How far a workload is.",
    "patch clusterqueues": "A finalizer that Kueue left on a queue is taken off.",
    "patch resourceflavors": "The same of a flavor.",
    "patch clusterqueues/status": "How full a queue is, and who waits.",
    "patch localqueues/status": "The same of a namespace's door to it.",
    "patch jobs": "A job waits, runs, or is made what it was.",
    "patch jobs/status": "A job that was stopped has not started.",
    "patch nodepools": "The finalizer that holds a pool while it has machines.",
    "patch nodepools/status": "Counts, cost, conditions, what was learnt about offerings.",
    "create noderequests": "A machine is wanted.",
    "patch noderequests": "A pod joins a machine that is coming.",
    "patch noderequests/status": "How far a purchase is.",
    "delete noderequests": "A request has done its duty.",
    "create noderemovalrequests": "A machine is not wanted any more.",
    "patch noderemovalrequests": "The wish to try a removal again is fulfilled.",
    "patch noderemovalrequests/status": "How far a removal is.",
    "delete noderemovalrequests": "A removal has done its duty.",
    "create nodemoves": "Nodes are to go, and what replaces them is to be bought.",
    "patch nodemoves/status": "How far a move is.",
    "delete nodemoves": "A move has been over for long.",
    "patch nodes": "Labels that are missing, the taint that closes a new node, the mark of one that nobody needs.",
    "delete nodes": "A machine is gone, and so is its node.",
    "patch pods": "Keys, nudges, and how often a pod found no place; one that waited in a queue is let go.",
    "evict pods": "A pod is asked to leave a node of a deleted pool, or one that a move empties.",
    "delete pods": "A pod whose machine is gone is released; one that was evicted from its queue is ended.",
    "patch pods/status": "A pod whose machine is dead is said to have failed; one that is ended by its queue, why.",
    "buy machine": "The provider is asked for a machine.",
    "give machine back": "The provider is asked to delete a machine.",
    "fence machine": "The provider is asked to cut a machine's power.",
    "create configmaps": "The provider kwok writes it down.",
    "patch configmaps": "The provider kwok cuts its power.",
    "delete configmaps": "The provider kwok deletes it.",
    "kwok: create nodes": "A played machine has booted.",
    "kwok: create csinodes": "Its kubelet begins to speak.",
    "kwok: patch csinodes": "It spoke before, and who wrote that down was stopped.",
    "kwok: patch nodes": "Its kubelet speaks, or falls silent.",
    "kwok: patch nodes/status": "It boots again after a power cut.",
    "kwok: patch configmaps": "When a played machine lost its power.",
    "kwok: delete nodes": "The node of a machine that is gone is removed, as cloud controllers do.",
    "kwok: delete configmaps": "A played machine vanished.",
}
"""By name, what it is for."""

AFTERMATH: Final = {"kwok: patch csinodes": "kwok: create csinodes"}
"""Points that are passed only by those who mend what was half done: by name, after what somebody must be stopped."""

_SOURCES: Final = {LEASE, EVENTS, *EffectPoint}


def registered_name(write: str, by: str) -> str:
    """What a write made for somebody is called here. One that nobody answers for has a name that is never here."""
    if by == KWOK:
        return f"kwok: {write}"
    return write if by in _SOURCES else f"past all points: {write}"
