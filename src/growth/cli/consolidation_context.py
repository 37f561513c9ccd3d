"""What consolidation sees at one instant, for commands that say what it would decide."""

from growth.api.settings.model import Settings
from growth.decide.capacity.offering_catalog import OFFERING_CATALOG
from growth.decide.consolidation.carry import ConsolidationCarry
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.facts.pending_pods import PENDING_PODS
from growth.decide.inputs import inputs_at
from growth.decide.registry.step import CLUSTER_STATE
from growth.observe.snapshot import Snapshot


def context_at(snapshot: Snapshot, settings: Settings) -> ConsolidationContext:
    """Return the context of one instant."""
    derivations = (OFFERING_CATALOG, CLUSTER_STATE, PENDING_PODS)
    return ConsolidationContext(inputs_at(snapshot, settings, derivations, carry=ConsolidationCarry()))
