"""Never two writers, whatever happens; and one again, once it stops happening."""

import random
from collections import Counter

import pytest

from tests.kube.lease_storm import Storm

pytestmark = pytest.mark.long

STORM_SECONDS = 600
# After the last misfortune: a lease to run out, on the slowest clock, and then somebody's next look.
CALM_SECONDS = 60


def weather(seed: int) -> Counter[str]:
    """One storm and the calm after it; what happened, counted."""
    storm = Storm(seed)
    try:
        for _ in range(3):
            storm.restart()
        storm.world.after(1, storm.strike)
        storm.world.play(lambda: storm.world.now > STORM_SECONDS, storm.check)
        storm.is_calm, storm.is_down = True, False
        for replica in storm.alive():
            replica.wake()
        storm.world.play(lambda: storm.world.now > STORM_SECONDS + CALM_SECONDS, storm.check)
        leaders = [replica.name for replica in storm.alive() if replica.clock() < replica.lease.fence()]
        assert leaders == [storm.holder()], "nobody leads in the calm\n" + "\n".join(storm.story[-40:])
        assert storm.api.objects["/api/v1/namespaces/growth/configmaps/ledger"]["data"] == {"by": leaders[0]}
        return storm.counts
    finally:
        storm.world.close()


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 20))])
def test_never_two_writers_in_a_storm_and_one_in_the_calm_after_it(seed: int) -> None:
    counts = weather(seed)
    assert counts["takeovers"] > 5, "the storm was too calm to prove anything"
    assert counts["pauses"] > 5
    assert counts["writes"] > 100


def test_never_two_writers_in_a_storm_that_nobody_has_seen_before() -> None:
    seed = random.SystemRandom().getrandbits(32)
    try:
        weather(seed)
    except AssertionError as error:
        raise AssertionError(
            f'seed {seed}; python -c "from tests.kube.test_leader_election_storm import weather; weather({seed})"'
        ) from error


def test_the_storms_do_wake_leaders_who_are_then_stopped_by_the_fence() -> None:
    assert sum(weather(seed)["fenced"] for seed in range(5)) > 0
