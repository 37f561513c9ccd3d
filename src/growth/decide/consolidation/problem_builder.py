"""The question, out of what is seen: a copy of the cluster as it will be without those that leave, who may go, what may
be bought, and for whom room is kept.

Pods that wait are none of it. As long as somebody wants a place nobody should ask: room that is free now is theirs.
"""

from collections.abc import Mapping

from growth.api.pod import Pod
from growth.api.settings.model import Settings
from growth.decide.consolidation.candidates import CandidateSet
from growth.decide.consolidation.move_search import pods_on
from growth.decide.consolidation.problem import ConsolidationProblem, SavingThreshold
from growth.decide.contract import DeciderState
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.plan import NO_PLAN
from growth.observe.snapshot import Snapshot


def question_of(
    snapshot: Snapshot,
    state: DeciderState,
    settings: Settings,
    choice: CandidateSet,
    *,
    at_once: Mapping[str, int],
    ghosts: tuple[Pod, ...] = (),
    worth: Mapping[str, SavingThreshold] | None = None,
    fades_per_hour: float = 0.0,
) -> ConsolidationProblem:
    """What to think about. It outlives the step: all that it reads is its own."""
    outlook = ScaleUpContext(snapshot, state, settings, NO_PLAN)
    stage = SimulatedCluster.copy_of(snapshot)
    gone = (
        outlook.terminating | outlook.dead | snapshot.to_go.keys() | snapshot.out_of_service.keys()
    ) & stage.nodes.keys()
    unplaced = tuple(pod for name in sorted(gone) for pod in _cleared(stage, name))
    return ConsolidationProblem(
        simulated=stage,
        pools=outlook.usable,
        offerings=outlook.catalog.buyable,
        candidates=choice.candidates,
        others=choice.others,
        at_once=dict(at_once),
        ghosts=(*unplaced, *ghosts),
        worth=worth or {},
        fades_per_hour=fades_per_hour,
        trials=outlook.catalog.trials,
        closed=outlook.closed,
    )


def _cleared(simulated: SimulatedCluster, name: str) -> list[Pod]:
    """Take a node that leaves off the stage; gives who works there, and will want room elsewhere."""
    pods = pods_on(simulated, name)
    simulated.remove_node(name)
    return pods
