"""What a workload asks for against what each flavor has left, and what would have to change. Pure."""

from collections.abc import Iterable, Iterator

import msgspec

from growth.api.quantity import QuantityError
from growth.api.queue.queues import ClusterQueue
from growth.api.queue.workload import Workload
from growth.cli.memory_report import named
from growth.cli.queue_entry import Entry, Standing
from growth.cli.queue_seeing import Seen, title_of
from growth.cli.queue_words import amounts
from growth.decide.queue.flavors import PodSetNeeds, assign, needs_of
from growth.decide.queue.scene import Key, usage_of
from growth.decide.queue.standing import standing_of

_SHOWN_HOLDERS = 3


class Offer(msgspec.Struct, frozen=True):
    """What one flavor has for the pods of one pod set; thousandths of cpu, whole units of everything else."""

    pod_set: str
    flavor: str
    asked: dict[str, int]
    left: dict[str, int]
    at_most: dict[str, int]
    """So much there could be, if nobody used any."""
    why: str
    """Why this flavor does not serve these pods; empty if it does."""

    @property
    def lacks(self) -> dict[str, int]:
        """How much more of what would be needed."""
        return {name: asked - self.left[name] for name, asked in self.asked.items() if asked > self.left[name]}

    @property
    def is_too_small(self) -> bool:
        """Whether it would not do if nobody used any of it."""
        return any(asked > self.at_most[name] for name, asked in self.asked.items())


def offers_for(seen: Seen, workload: Workload) -> Iterator[Offer]:
    """Each flavor is asked alone, by the function that admits: so its own reason is told, and no other's."""
    queue = seen.scene.queue_of(workload)
    if queue is None:
        return
    member = seen.scene.members[queue.metadata.name]
    for needs in _needs(seen, workload):
        for group in queue.spec.resource_groups:
            asked = {name: needs.amounts[name] for name in group.covered_resources if name in needs.amounts}
            only = msgspec.structs.replace(needs, amounts=asked)
            for flavor in group.flavors if asked else ():
                alone = msgspec.structs.replace(group, flavors=(flavor,))
                found = assign(_with(queue, alone), member, seen.scene.flavors, [only])
                yield Offer(
                    pod_set=needs.name,
                    flavor=flavor.name,
                    asked=asked,
                    left={name: max(0, member.available((flavor.name, name))) for name in asked},
                    at_most={name: member.capacity((flavor.name, name)) for name in asked},
                    why=found.why.removeprefix(f"{needs.name}: "),
                )


def _needs(seen: Seen, workload: Workload) -> tuple[PodSetNeeds, ...]:
    try:
        return needs_of(workload, seen.scene.filling)
    except (QuantityError, msgspec.ValidationError):
        return ()


def _with(queue: ClusterQueue, *groups: object) -> ClusterQueue:
    spec = msgspec.structs.replace(queue.spec, resource_groups=groups)
    return msgspec.structs.replace(queue, spec=spec)


def holders_of(seen: Seen, key: Key, offers: Iterable[Offer]) -> Iterator[str]:
    """By flavor, who of its ClusterQueue holds most of what is short."""
    queue = seen.scene.queue_of(seen.scene.drafts[key].before)
    for offer in {one.flavor: one for one in offers if one.lacks and not one.is_too_small}.values():
        held: dict[Key, dict[str, int]] = {}
        for other, draft in seen.scene.drafts.items():
            if draft.before.is_reserving and seen.scene.queue_of(draft.before) is queue:
                usage = usage_of(draft.before)
                held[other] = {name: usage.get((offer.flavor, name), 0) for name in offer.lacks}
        most = sorted(held, key=lambda one: (*(-value for value in held[one].values()), one))
        told = [f"{title_of(seen, one)} ({amounts(held[one])})" for one in most if any(held[one].values())]
        if told:
            yield f"flavor {offer.flavor}: {named(told, _SHOWN_HOLDERS)}"


def changes_for(seen: Seen, workload: Workload, entry: Entry, offers: Iterable[Offer]) -> Iterator[str]:
    """What a person could do; nothing where time does it."""
    if entry.standing is Standing.INACTIVE:
        yield f"mend what kept it from starting, then: {entry.remedy}"
    if entry.standing is Standing.HELD:
        yield from _openings(seen, workload)
    if entry.standing is not Standing.QUEUED or (entry.namespace, entry.name) in seen.served:
        return
    queue = seen.scene.queue_of(workload)
    covered = {one for group in queue.spec.resource_groups for one in group.covered_resources} if queue else set[str]()
    for resource in entry.asks:
        if resource not in covered:
            yield f"give ClusterQueue {entry.cluster_queue} quota for {resource}, or ask for none"
    yield from (_change(one) for one in offers if one.why)


def _change(offer: Offer) -> str:
    if offer.is_too_small:
        wanted = {name: asked for name, asked in offer.asked.items() if asked > offer.at_most[name]}
        most = amounts({name: offer.at_most[name] for name in wanted})
        return f"flavor {offer.flavor} has {most} at most: raise its nominalQuota to {amounts(wanted)}, or ask for less"
    if offer.lacks:
        missing = amounts(offer.lacks)
        return f"{missing} more of flavor {offer.flavor}: somebody who holds it ends, or its nominalQuota is raised"
    return f"{offer.why}: change what its pods ask for, or the flavor"


def _openings(seen: Seen, workload: Workload) -> Iterator[str]:
    door, queue = seen.scene.door_of(workload), seen.scene.queue_of(workload)
    patch = '--type merge -p \'{"spec":{"stopPolicy":"None"}}\''
    if door is not None and door.spec.stop_policy != "None":
        meta = door.metadata
        yield f"open its LocalQueue: kubectl -n {meta.namespace} patch localqueues {meta.name} {patch}"
    if queue is not None and queue.spec.stop_policy != "None":
        yield f"open its ClusterQueue: kubectl patch clusterqueues {queue.metadata.name} {patch}"
    elif queue is not None and not standing_of(queue, seen.scene.flavors).is_active:
        yield f"mend ClusterQueue {queue.metadata.name}: {standing_of(queue, seen.scene.flavors).why}"
    elif door is None:
        meta = workload.metadata
        yield f"create LocalQueue {workload.spec.queue_name} in namespace {meta.namespace}, or name another one"
