"""Every story there is."""

from growth.play.story import Story
from tests.stories import (
    cluster_life,
    failover,
    failover_doubt,
    failover_growing,
    failover_hetzner,
    failover_return,
    growing,
    growing_nodes,
    growing_pods,
    growing_pools,
    hetzner,
    hetzner_registry,
    machines,
    memory,
    registry,
    shrinking,
    troubles,
)

STORIES: list[Story] = [
    *cluster_life.STORIES.all,
    *machines.STORIES.all,
    *memory.STORIES.all,
    *growing.STORIES.all,
    *growing_pods.STORIES.all,
    *growing_nodes.STORIES.all,
    *growing_pools.STORIES.all,
    *shrinking.STORIES.all,
    *registry.STORIES.all,
    *failover.STORIES.all,
    *failover_doubt.STORIES.all,
    *failover_return.STORIES.all,
    *failover_hetzner.STORIES.all,
    *failover_growing.STORIES.all,
    *troubles.STORIES.all,
    *hetzner.STORIES.all,
    *hetzner_registry.STORIES.all,
]
