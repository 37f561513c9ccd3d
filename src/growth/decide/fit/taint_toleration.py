"""NodeUnschedulable and TaintToleration: marks on a node that keep pods away which do not consent to them."""

from collections.abc import Sequence
from typing import Final

from growth.api.pod import PodSpec
from growth.api.tolerations import NO_SCHEDULE, Taint, Toleration, tolerates, untolerated
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo

UNSCHEDULABLE_FILTER: Final = "NodeUnschedulable"
FILTER: Final = "TaintToleration"

# A cordoned node takes only pods that tolerate this taint, whether or not it carries it already.
CORDON: Final = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)

_CORDONED: Final = FilterRefusal(UNSCHEDULABLE_FILTER, "the node is cordoned (spec.unschedulable)", is_permanent=True)


def prepare_unschedulable(spec: PodSpec) -> Check | None:
    """The check for cordoned nodes; None if the pod does not mind."""
    if any(tolerates(toleration, CORDON) for toleration in spec.tolerations):
        return None

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        return _CORDONED if node_info.node.spec.unschedulable else None

    return check


def prepare(tolerations: Sequence[Toleration]) -> Check:
    """The check for taints with the effects NoSchedule and NoExecute; how long one is tolerated plays no part.

    Who asks for a single pod asks with its keys (``starting.tolerations_of``), who asks for many with the spec's alone.
    """

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        if not node_info.blocking_taints:
            return None
        taint = untolerated(node_info.blocking_taints, tolerations)
        if taint is None:
            return None
        return FilterRefusal(FILTER, f"does not tolerate the node's taint {taint}", is_permanent=True)

    return check
