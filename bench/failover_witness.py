"""Somebody who watches what becomes of databases whose machines die, and notes each moment by its own clock."""

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap
from growth.api.growth_status import GROWTH_STATUS, timelines_in
from growth.api.kinds import CONFIG_MAPS, NODES, PODS, VOLUME_ATTACHMENTS
from growth.api.node import Node
from growth.api.out_of_service import out_of_service_taint, proof_on
from growth.api.pod import Pod
from growth.api.storage import VolumeAttachment
from growth.api.taints import STARTING
from growth.kube.client import Client
from growth.kube.informer import Informer


class Home(msgspec.Struct, frozen=True):
    """Where a pod with its volume is."""

    pod: str
    uid: str
    node: str
    volume: str


class Death(msgspec.Struct):
    """What happened after one power cut, in seconds since the epoch; None is not yet."""

    home: Home
    cut_at: float
    detected_at: float | None = None
    tainted_at: float | None = None
    detached_at: float | None = None
    running_at: float | None = None
    heirs: set[str] = msgspec.field(default_factory=set[str])
    """Uids of the pods that came under its name since; more than one: somebody ended the first."""


class Witness:
    """Watches nodes, pods, volumes and what Growth tells; a moment is when the watch told of it.

    What Growth noticed is the one thing that only Growth knows: its own timeline says when.
    """

    def __init__(self, volumes: dict[str, str]) -> None:
        """``volumes``: by the pod's name, the volume that belongs to it."""
        self._volumes = volumes
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.tainted: dict[str, float] = {}
        """By node, when it was first seen out of service."""
        self.attached_twice: set[str] = set()
        """Volumes that were attached to two nodes at one time."""
        self.deaths: dict[str, Death] = {}
        """By the name of the node that lost its machine."""
        self._attachments: dict[str, VolumeAttachment] = {}

    @property
    def open_nodes(self) -> list[str]:
        """Those that work and let pods in."""
        return [name for name, node in self.nodes.items() if node.is_ready and not _is_closed(node)]

    def home_of(self, pod: str) -> Home | None:
        """Where it runs with its volume attached; None if it does not."""
        found, volume = self.pods.get(pod), self._volumes[pod]
        if found is None or found.status.phase != "Running" or found.metadata.deletion_timestamp is not None:
            return None
        if found.node_name not in self._places_of(volume):
            return None
        return Home(pod, found.metadata.uid, found.node_name, volume)

    def note_cut(self, home: Home) -> None:
        """The power of its machine is cut now."""
        self.deaths[home.node] = Death(home, time.time())

    def story_of(self, death: Death) -> str:
        """What happened after one power cut, for people: seconds from it, and how often its provider was heard."""
        moments = {
            "noticed": death.detected_at,
            "out of service": death.tainted_at,
            "detached": death.detached_at,
            "running": death.running_at,
        }
        parts = [f"{what} {at - death.cut_at:.1f}" for what, at in moments.items() if at is not None]
        node = self.nodes.get(death.home.node)
        proof = proof_on(node) if node is not None else None
        if proof is not None:
            seconds = (proof.last_reading - proof.first_reading).total_seconds()
            parts.append(f"{proof.readings} readings in {seconds:.3f} s")
        return f"{death.home.node}: {', '.join(parts)}"

    def hear_of_nodes(self, changes: list[Change[Node]]) -> None:
        for change in changes:
            node, name = change.now, change.now.metadata.name
            if change.happened is ChangeType.DELETED:
                self.nodes.pop(name, None)
                continue
            self.nodes[name] = node
            if out_of_service_taint(node) is not None:
                self.tainted.setdefault(name, time.time())
                if (death := self.deaths.get(name)) and death.tainted_at is None:
                    death.tainted_at = time.time()

    def hear_of_pods(self, changes: list[Change[Pod]]) -> None:
        for change in changes:
            if change.happened is ChangeType.DELETED:
                self.pods.pop(change.now.metadata.name, None)
                continue
            pod = self.pods[change.now.metadata.name] = change.now
            for death in self.deaths.values():
                if death.home.pod == pod.metadata.name and death.home.uid != pod.metadata.uid:
                    death.heirs.add(pod.metadata.uid)
        self._look_for_new_homes()

    def hear_of_attachments(self, changes: list[Change[VolumeAttachment]]) -> None:
        for change in changes:
            name = change.now.metadata.name
            if change.happened is not ChangeType.DELETED:
                self._attachments[name] = change.now
                continue
            self._attachments.pop(name, None)
            death = self.deaths.get(change.now.spec.node_name)
            if death is not None and change.now.spec.source.persistent_volume_name == death.home.volume:
                death.detached_at = time.time()
        self.attached_twice |= {volume for volume in self._volumes.values() if len(self._places_of(volume)) > 1}
        self._look_for_new_homes()

    def hear_of_config_maps(self, changes: list[Change[ConfigMap]]) -> None:
        for change in changes:
            if change.now.metadata.name != GROWTH_STATUS:
                continue
            for timeline in timelines_in(change.now):
                death = self.deaths.get(timeline.node)
                if death is None or death.detected_at is not None:
                    continue
                instants = [one.at.timestamp() for one in timeline.entries]
                death.detected_at = min((at for at in instants if at > death.cut_at), default=None)

    def _look_for_new_homes(self) -> None:
        for death in self.deaths.values():
            if death.running_at is None and (home := self.home_of(death.home.pod)) and home.uid != death.home.uid:
                death.running_at = time.time()

    def _places_of(self, volume: str) -> set[str]:
        return {
            one.spec.node_name
            for one in self._attachments.values()
            if one.spec.source.persistent_volume_name == volume and one.status.attached
        }


@asynccontextmanager
async def witnessing(
    client: Client, volumes: dict[str, str], namespace: str, growth_namespace: str
) -> AsyncGenerator[Witness]:
    """A witness who looks on as long as the context lasts."""
    witness = Witness(volumes)
    informers = [
        Informer(client, NODES, witness.hear_of_nodes),
        Informer(client, PODS, witness.hear_of_pods, namespace=namespace),
        Informer(client, VOLUME_ATTACHMENTS, witness.hear_of_attachments),
        Informer(client, CONFIG_MAPS, witness.hear_of_config_maps, namespace=growth_namespace),
    ]
    looking = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        for informer in informers:
            await informer.synced.wait()
        yield witness
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)


def figures(deaths: Iterable[Death]) -> dict[str, Any]:
    """Median and worst of each moment, from each one's own power cut; how many run nowhere, or came twice."""
    every = list(deaths)
    return {
        "detect_s": _spread(one.detected_at - one.cut_at for one in every if one.detected_at is not None),
        "tainted_s": _spread(one.tainted_at - one.cut_at for one in every if one.tainted_at is not None),
        "detached_s": _spread(one.detached_at - one.cut_at for one in every if one.detached_at is not None),
        "running_s": _spread(one.running_at - one.cut_at for one in every if one.running_at is not None),
        "stuck": sum(one.running_at is None for one in every),
        "ended_again": sum(len(one.heirs) > 1 for one in every),
    }


def in_words(deaths: Iterable[Death]) -> str:
    """How far they have come."""
    every = list(deaths)
    counts = {
        "noticed": sum(one.detected_at is not None for one in every),
        "out of service": sum(one.tainted_at is not None for one in every),
        "detached": sum(one.detached_at is not None for one in every),
        "running elsewhere": sum(one.running_at is not None for one in every),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def after(deaths: Iterable[Death], instant: float) -> dict[str, float] | None:
    """Seconds from an instant that all share until they ran again."""
    return _spread(one.running_at - instant for one in deaths if one.running_at is not None)


def wrong_taints(witness: Witness) -> list[str]:
    """Nodes that went out of service although their machines had power then."""
    deaths = witness.deaths
    return [name for name, at in witness.tainted.items() if name not in deaths or at < deaths[name].cut_at]


def _spread(seconds: Iterable[float]) -> dict[str, float] | None:
    found = sorted(seconds)
    return {"median": round(statistics.median(found), 1), "max": round(found[-1], 1)} if found else None


def _is_closed(node: Node) -> bool:
    closing = {STARTING, "node.kubernetes.io/not-ready"}
    return any(taint.key in closing for taint in node.spec.taints)
