"""The question, out of what is seen: a copy of the cluster as it will be without those that leave, who may go, what may
be bought, and for whom room is kept.

Pods that wait are none of it. As long as somebody wants a place nobody should ask: room that is free now is theirs.
"""

from collections.abc import Mapping

from growth.api.pod import Pod
from growth.decide.capacity.provisioning_options import provisioning_options
from growth.decide.consolidation.candidates import CandidateSet
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.move_search import pods_on
from growth.decide.consolidation.problem import ConsolidationProblem, SavingThreshold
from growth.decide.fit.simulated_cluster import SimulatedCluster


def question_of(
    context: ConsolidationContext,
    choice: CandidateSet,
    *,
    at_once: Mapping[str, int],
    ghosts: tuple[Pod, ...] = (),
    worth: Mapping[str, SavingThreshold] | None = None,
    fades_per_hour: float = 0.0,
) -> ConsolidationProblem:
    """What to think about. It outlives the step: all that it reads is its own."""
    snapshot, catalog = context.snapshot, context.catalog
    options = provisioning_options(snapshot, context.cluster, catalog, context.replacements)
    stage = SimulatedCluster.copy_of(snapshot)
    gone = (
        options.terminating | options.dead | snapshot.to_go.keys() | snapshot.out_of_service.keys()
    ) & stage.nodes.keys()
    unplaced = tuple(pod for name in sorted(gone) for pod in _cleared(stage, name))
    return ConsolidationProblem(
        simulated=stage,
        pools=options.usable,
        offerings=catalog.buyable,
        candidates=choice.candidates,
        others=choice.others,
        at_once=dict(at_once),
        ghosts=(*unplaced, *ghosts),
        worth=worth or {},
        fades_per_hour=fades_per_hour,
        trials=catalog.trials,
        closed=options.closed,
    )


def _cleared(simulated: SimulatedCluster, name: str) -> list[Pod]:
    """Take a node that leaves off the stage; gives who works there, and will want room elsewhere."""
    pods = pods_on(simulated, name)
    simulated.remove_node(name)
    return pods
