"""Disruption budgets: how many of the pods that they protect may go right now.

Only the status is computed here; the API server asks it when somebody wants to evict. Pods are counted as they change:
a budget is found by one label that its selector wants, so a pod meets only the budgets that can mean it.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

import msgspec

from growth.api.selectors import LabelSelector
from growth_lab.simulator.clock import Clock, read
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import ALL, BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.conditions import with_condition
from growth_lab.simulator.workloads.int_or_percent import share_of
from growth_lab.simulator.workloads.pod_state import controller_of, state_of
from growth_lab.simulator.workloads.replica_sets import is_news

_SCALED: Final = {resource.kind: resource for resource in (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS)}
_NAMES: Final = {(resource.api_version, resource.kind): str(resource) for resource in ALL}


class _Uncountable(Exception):
    """The number of pods that there should be cannot be known."""


class _Owner(NamedTuple):
    api_version: str
    kind: str
    name: str


class _Member(NamedTuple):
    """What a budget has to know of a pod."""

    is_healthy: bool
    owner: _Owner | None


class _Budget:
    """One budget's selector and the pods that it protects."""

    def __init__(self, selector: LabelSelector | None) -> None:
        self.selector = selector
        self.members: dict[str, _Member] = {}
        self.healthy = 0
        self.owners: dict[_Owner, int] = {}
        """How many of the pods each has."""

    def note(self, name: str, member: _Member | None) -> bool:
        """Whether this changes anything."""
        before = self.members.get(name)
        if before == member:
            return False
        self.healthy += (member is not None and member.is_healthy) - (before is not None and before.is_healthy)
        if member is None:
            del self.members[name]
        else:
            self.members[name] = member
        for known, by in ((before, -1), (member, 1)):
            if known is not None and known.owner is not None:
                self.owners[known.owner] = self.owners.get(known.owner, 0) + by
                if not self.owners[known.owner]:
                    del self.owners[known.owner]
        return True


_Tag = tuple[str, str, str]


class Budgets:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store = clock, store
        self._forgets_after = timedelta(seconds=timings.budget_disruption)
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync)
        self._budgets: dict[Key, _Budget] = {}
        self._by_tag: dict[_Tag, dict[Key, None]] = {}
        store.listen(BUDGETS, self._hear)
        store.listen(PODS, self._hear_pod)
        for budget in store.all(BUDGETS):
            self._begin(budget)

    # Hearing

    def _hear(self, event: Event) -> None:
        budget, before = event.object, event.before
        if event.what == "DELETED":
            self._end(before or budget)
        elif before is None:
            self._begin(budget)
        elif budget["spec"].get("selector") != before["spec"].get("selector"):
            self._end(before)
            self._begin(budget)
        elif is_news(event) or _disrupted(budget) != _disrupted(before):
            self._queue.add(event.key)  # whatever else changed was written here

    def _begin(self, budget: Json) -> None:
        written = budget["spec"].get("selector")
        known = _Budget(None if written is None else msgspec.convert(written, LabelSelector))
        key = key_of(budget)
        self._budgets[key] = known
        self._by_tag.setdefault(_tag(budget), {})[key] = None
        for pod in self._store.all(PODS, key[0]):
            known.note(pod["metadata"]["name"], _member(known, pod))
        self._queue.add(key)

    def _end(self, budget: Json) -> None:
        self._budgets.pop(key_of(budget), None)
        siblings = self._by_tag.get(_tag(budget), {})
        siblings.pop(key_of(budget), None)

    def _hear_pod(self, event: Event) -> None:
        if not self._budgets:
            return
        pod, before = event.object, event.before
        meta = pod["metadata"]
        found = dict.fromkeys(self._candidates(pod))
        if before is not None and before["metadata"].get("labels") != meta.get("labels"):
            found |= dict.fromkeys(self._candidates(before))
        for key in found:
            budget = self._budgets[key]
            member = None if event.what == "DELETED" else _member(budget, pod)
            if budget.note(meta["name"], member):
                self._queue.add(key)

    def _candidates(self, pod: Json) -> Iterator[Key]:
        namespace = pod["metadata"]["namespace"]
        yield from self._by_tag.get((namespace, "", ""), ())
        for label, value in part(pod, "metadata", "labels").items():
            yield from self._by_tag.get((namespace, label, value), ())

    # Counting

    def _sync(self, key: Key) -> None:
        budget, known = self._store.get(BUDGETS, key[1], key[0]), self._budgets.get(key)
        if budget is None or known is None:
            return
        try:
            expected, desired = self._expected(budget, known)
        except _Uncountable as error:
            self._write(budget, {"disruptionsAllowed": 0}, "SyncFailed", str(error))
            return
        disrupted = self._still_disrupted(budget, known)
        healthy = known.healthy - sum(known.members[name].is_healthy for name in disrupted)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        old = _disrupted(budget)
        status: Json = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
        }
        if old:
            gone = {name: None for name in old if name not in disrupted}
            status["disruptedPods"] = {**disrupted, **gone} if disrupted else None
        self._write(budget, status, "SufficientPods" if allowed else "InsufficientPods", "")

    def _expected(self, budget: Json, known: _Budget) -> tuple[int, int]:
        """How many pods there should be, and how many of them must be healthy."""
        fewest, most_missing = budget["spec"].get("minAvailable"), budget["spec"].get("maxUnavailable")
        if most_missing is not None:
            expected = self._scale(budget, known)
            return expected, max(0, expected - share_of(most_missing, expected, up=True))
        if isinstance(fewest, str):
            expected = self._scale(budget, known)
            return expected, share_of(fewest, expected, up=True)
        return len(known.members), fewest or 0

    def _scale(self, budget: Json, known: _Budget) -> int:
        """How many pods the owners of these pods are asked for."""
        sizes: dict[str, int] = {}
        for owner in known.owners:
            found = self._scaled_owner(budget, owner)
            if found is None:
                name = next(name for name, member in known.members.items() if member.owner == owner)
                raise _Uncountable(f'found no controllers for pod "{name}"')
            sizes[found["metadata"]["uid"]] = found["spec"].get("replicas", 1)
        return sum(sizes.values())

    def _scaled_owner(self, budget: Json, owner: _Owner) -> Json | None:
        resource = _SCALED.get(owner.kind)
        if resource is None or resource.api_version != owner.api_version:
            name = _NAMES.get((owner.api_version, owner.kind), owner.kind)
            raise _Uncountable(f"{name} does not implement the scale subresource")
        found = self._store.get(resource, owner.name, budget["metadata"]["namespace"])
        above = controller_of(found) if found is not None else None
        if resource is REPLICA_SETS and above is not None and above["kind"] == DEPLOYMENTS.kind:
            return self._store.get(DEPLOYMENTS, above["name"], budget["metadata"]["namespace"])
        return found

    def _still_disrupted(self, budget: Json, known: _Budget) -> Json:
        """Pods that were evicted a moment ago and show no sign of it yet; after a while nobody believes that."""
        kept: Json = {}
        for name, stamp in _disrupted(budget).items():
            pod = self._store.get(PODS, name, budget["metadata"]["namespace"])
            if pod is None or name not in known.members or state_of(pod).is_terminating:
                continue
            left = read(stamp) + self._forgets_after - self._clock.now()
            if left > timedelta(0):
                kept[name] = stamp
                self._queue.add_after(key_of(budget), left.total_seconds())
        return kept

    def _write(self, budget: Json, status: Json, reason: str, message: str) -> None:
        meta = budget["metadata"]
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if reason == "SufficientPods" else "False",
            "reason": reason,
            "message": message,
            "observedGeneration": meta["generation"],
        }
        known = part(budget, "status")
        zeroes = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 0)
        whole = {
            **{field: known.get(field, zero) for field, zero in zeroes.items()},
            **status,
            "observedGeneration": meta["generation"],
            "conditions": with_condition(known.get("conditions"), condition, self._clock),
        }
        self._store.patch(BUDGETS, meta["name"], meta["namespace"], {"status": whole})


def _member(budget: _Budget, pod: Json) -> _Member | None:
    if budget.selector is None or not budget.selector.matches(part(pod, "metadata", "labels")):
        return None
    state, owner = state_of(pod), controller_of(pod)
    named = None if owner is None else _Owner(owner["apiVersion"], owner["kind"], owner["name"])
    return _Member(state.is_ready and not state.is_terminating, named)


def _disrupted(budget: Json) -> Json:
    return part(budget, "status", "disruptedPods")


def _tag(budget: Json) -> _Tag:
    """A label that every pod of this budget has; empty if its selector names none."""
    wanted = part(budget, "spec", "selector", "matchLabels")
    label = min(wanted, default="")
    return budget["metadata"]["namespace"], label, wanted.get(label, "")
