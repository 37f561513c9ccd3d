"""A cluster is healthy again when it was seen to be well for a whole check, whenever it was last looked at."""

from datetime import UTC, datetime, timedelta

from growth.api.settings.model import RegistrySettings
from growth.decide.facts.cluster_state import ClusterHealth, NodeState, ReadinessCensus, Unit
from growth.decide.registry.cluster_health import checked

NOW, SECOND = datetime(2026, 3, 1, 8, tzinfo=UTC), timedelta(seconds=1)
SETTINGS = RegistrySettings()
CHECK = SETTINGS.check_every
UNREADY = [Unit(f"node-{number}", NodeState.UNREADY, is_unjustified=True) for number in range(6)]
FOREIGN = [Unit(f"other-{number}", NodeState.FOREIGN, is_unjustified=True) for number in range(6)]


def test_a_look_of_long_ago_does_not_shorten_the_check() -> None:
    broken = checked(ClusterHealth(), 4, UNREADY, NOW, SETTINGS)
    mended_at = NOW + 3 * CHECK
    mended = checked(broken, 10, [], mended_at, SETTINGS)
    assert (mended.is_healthy, mended.is_halted, mended.changes_at) == (False, True, mended_at + CHECK)
    assert not checked(mended, 10, [], mended_at + CHECK - SECOND, SETTINGS).is_healthy
    well = checked(mended, 10, [], mended_at + CHECK, SETTINGS)
    assert (well.is_healthy, well.healthy_since) == (True, mended_at + CHECK)


def test_what_is_amiss_again_meanwhile_begins_the_check_anew() -> None:
    health = checked(ClusterHealth(), 4, UNREADY, NOW, SETTINGS)
    for second in range(1, 60, 6):
        health = checked(health, 10, [], NOW + second * SECOND, SETTINGS)
        health = checked(health, 4, UNREADY, NOW + (second + 3) * SECOND, SETTINGS)
        assert (health.is_healthy, health.unhealthy_since) == (False, NOW)


def test_a_process_that_was_just_started_sees_a_whole_check_first() -> None:
    remembered = ClusterHealth(is_healthy=False, is_halted=True, unhealthy_since=NOW)
    first = checked(remembered, 10, [], NOW + CHECK, SETTINGS)
    assert first.is_halted
    assert checked(first, 10, [], NOW + 2 * CHECK, SETTINGS).is_healthy


def test_our_own_nodes_halt_for_a_whole_check_after_they_are_back_although_others_are_not() -> None:
    """Nodes of others have long had their time."""
    began, now = NOW, NOW + 2 * SETTINGS.foreign_halt_at_most
    health = checked(ClusterHealth(is_healthy=False, unhealthy_since=began), 4, [*UNREADY, *FOREIGN], now, SETTINGS)
    back_at = now + 3 * CHECK
    health = checked(health, 4, FOREIGN, back_at, SETTINGS)
    assert (health.is_halted, health.census) == (True, ReadinessCensus(4, 0, 6))
    assert checked(health, 4, FOREIGN, back_at + CHECK - SECOND, SETTINGS).is_halted
    assert not checked(health, 4, FOREIGN, back_at + CHECK, SETTINGS).is_halted
