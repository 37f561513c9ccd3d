"""What would all of it cost if it were bought today? And what is each pod's part of that?

The first is the aim, with a proven bound below it. The second tells where money is wasted: a node that costs more than
its pods would cost on the best machines is the first to go.
"""

from collections.abc import Mapping

import msgspec

from growth.api.pod import Pod
from growth.decide.consolidate.question import Question
from growth.decide.fit.simulated_cluster import Stage
from growth.decide.solver.placement_solution import PlannedNode
from growth.decide.solver.planner import plan


class Today(msgspec.Struct, frozen=True):
    """The answer, for the candidates: all other nodes stay in any case."""

    cost_per_hour: float
    bound_per_hour: float
    """No cluster that serves these pods costs less: proven."""
    worth: Mapping[str, float]
    """By uid, what a pod costs an hour. Those that could not be bought a place today are not in it."""


def today(question: Question, pods: Mapping[str, list[Pod]]) -> Today:
    """Ask; ``pods`` are those of each candidate."""
    stage = question.stage
    mark = stage.mark()
    for one in question.candidates:
        stage.remove_node(one.name)
    solution = plan(stage, [pod for own in pods.values() for pod in own], question.market(question.others))
    worth = {pod.metadata.uid: 0.0 for filled in solution.existing for pod in filled.pods}
    for node in solution.buy:
        worth |= shares(stage, node)
    stage.back_to(mark)
    return Today(solution.cost_per_hour, solution.bound_per_hour, worth)


def shares(stage: Stage, node: PlannedNode) -> dict[str, float]:
    """What each pod of a machine costs: it pays for the part that it takes, by what it takes most of."""
    requests = {pod.metadata.uid: stage.requests(pod) for pod in node.pods}
    total: dict[str, int] = {}
    for asked in requests.values():
        for name, amount in asked.items():
            total[name] = total.get(name, 0) + amount
    parts = {
        uid: max((amount / total[name] for name, amount in asked.items() if total[name]), default=0.0)
        for uid, asked in requests.items()
    }
    whole = sum(parts.values()) or 1.0
    return {uid: node.offering.price_per_hour * part / whole for uid, part in parts.items()}
