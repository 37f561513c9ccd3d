"""The registry as one pass reports it."""

from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.registry.carry import RegistryCarry


class RegistryContext(PassContext[RegistryCarry]):
    """The state of the cluster, and when its numbers were last written."""

    def __init__(self, inputs: Inputs[RegistryCarry, None, None]) -> None:
        super().__init__(inputs)
        self.carry = inputs.carry
        """What the next pass must know, as far as steps have decided."""
        self.cluster = self.facts.get(ClusterState)
