"""What a move risks: pods that cannot all go at once, that keep something, or that nobody stands in for. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from growth.api.kinds import POD_DISRUPTION_BUDGETS
from growth.api.pod import Pod
from growth.api.selectors import selects
from growth.api.workloads import PodDisruptionBudget
from growth.cli.memory_report import counted, named
from growth.decide.fit.volume_claims import named_claims
from growth.observe.snapshot import Snapshot


class MoveRisks:
    """Those of all moves of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._budgets: dict[str, list[PodDisruptionBudget]] = {}
        for _, budget in sorted(snapshot.table(POD_DISRUPTION_BUDGETS).items()):
            self._budgets.setdefault(budget.metadata.namespace, []).append(budget)
        self._known: dict[tuple[str, int], list[PodDisruptionBudget]] = {}
        self._siblings = Counter(
            owner.uid
            for pods in snapshot.pods_by_node.values()
            for pod in pods.values()
            if (owner := pod.metadata.controller) is not None
        )

    def of(self, pods: Sequence[Pod]) -> Iterator[str]:
        """What may go wrong, or will be noticed, when these are moved."""
        yield from self._guarded(pods)
        stateful = [name_of(pod) for pod in pods if _is_stateful(pod)]
        if stateful:
            yield f"{counted(len(stateful), 'pod')} with state: {named(stateful, 3)}"
        alone = [name_of(pod) for pod in pods if self._is_alone(pod)]
        if alone:
            yield f"{counted(len(alone), 'pod')} that nobody stands in for meanwhile: {named(alone, 3)}"

    def _guarded(self, pods: Iterable[Pod]) -> Iterator[str]:
        moving = Counter[str]()
        allowed: dict[str, int] = {}
        for pod in pods:
            for budget in self._budgets_of(pod):
                name = f"{budget.metadata.namespace}/{budget.metadata.name}"
                moving[name] += 1
                allowed[name] = budget.status.disruptions_allowed
        for name, count in moving.items():
            if count >= allowed[name]:
                yield f"disruption budget {name} allows {allowed[name]:,} now, and the move needs {count:,}"

    def _budgets_of(self, pod: Pod) -> list[PodDisruptionBudget]:
        """Siblings share labels (``api.interning``) and are judged once: a namespace may have many budgets."""
        labels, namespace = pod.metadata.labels, pod.metadata.namespace
        found = self._known.get((namespace, id(labels)))
        if found is None:
            there = self._budgets.get(namespace, ())
            found = [one for one in there if one.spec.selector is not None and selects(one.spec.selector, labels)]
            self._known[namespace, id(labels)] = found
        return found

    def _is_alone(self, pod: Pod) -> bool:
        owner = pod.metadata.controller
        return owner is None or self._siblings[owner.uid] == 1


def name_of(pod: Pod) -> str:
    """With its namespace."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _is_stateful(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return (owner is not None and owner.kind == "StatefulSet") or any(True for _ in named_claims(pod))
