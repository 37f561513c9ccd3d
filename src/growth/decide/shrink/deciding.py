"""Which nodes does nobody need, and how far are those that go? Docs: docs/removing.md.

It marks nodes, and asks for their removal; it carries removals out, whoever asked for them. What a pool is deleted with
it empties first.
"""

from growth.api.settings.model import Settings
from growth.decide.contract import Decision, State
from growth.decide.shrink.draining import drain
from growth.decide.shrink.emptying import empty
from growth.decide.shrink.halting import halt
from growth.decide.shrink.removing import forget_wish, remove
from growth.decide.shrink.scene import Memory, Scene
from growth.decide.shrink.unready import give_up_unready
from growth.observe.snapshot import Snapshot


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    scene = Scene(snapshot, state, settings, state.memory if isinstance(state.memory, Memory) else Memory())
    if scene.cluster.is_halted:
        halt(scene)
    elif not scene.cluster.gives_up:
        _go_on(scene)
    wake_at = min((when for when in scene.deadlines if when > scene.now), default=None)
    return Decision(tuple(scene.said), wake_at, scene.remembering())


def _go_on(scene: Scene) -> None:
    for removal in scene.removals:
        remove(scene, removal)
        forget_wish(scene, removal)
    for name, pool in sorted(scene.pools.items()):
        if pool.metadata.deletion_timestamp is None:
            empty(scene, pool)
            give_up_unready(scene, pool)
        else:
            drain(scene, pool, scene.nodes_of_pools[name])
