"""Growth is killed between evidence, taint and delete: one taint, and no proof that nobody has seen."""

from datetime import datetime

import pytest

from growth.api.kinds import NODES
from growth.api.out_of_service import OUT_OF_SERVICE, Proof, proof_on
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.failover import STORIES
from tests.trust.interruption import Pass, Side
from tests.trust.trial import Attempt, tried

pytestmark = pytest.mark.long

STORY = STORIES.all[0]
EVIDENCE, TAINT, FAIL, DELETE = "renew lease", "patch nodes", "patch pods/status", "delete pods"


class Death:
    """A process is killed at one of its passes; how the story went on."""

    def __init__(self, number: int, side: Side) -> None:
        self._number, self._side = number, side
        self._play: Play | None = None
        self.killed_at: datetime | None = None
        self.proofs: list[Proof] = []
        attempt = Attempt(STORY, self._wish)

        async def tell(play: Play) -> None:
            self._play = play
            await attempt.tell(play)
            found = [proof_on(node) for node in (await play.client.list(NODES)).items]
            self.proofs = [proof for proof in found if proof is not None]

        seen = play_virtually(tell, alone=True)
        self.words = [one.what for one in seen if OUT_OF_SERVICE in one.what]
        self.problems = attempt.judged().problems

    def _wish(self, passed: Pass) -> Side | None:
        if passed.number != self._number or self._play is None:
            return None
        self.killed_at = self._play.now()
        return self._side


def pass_of(name: str) -> int:
    """The last pass of this name up to the first pod that is released: where one must be killed."""
    passes = tried(STORY, may_be_left=None).passes
    names = [one.name for one in passes]
    end = names.index(DELETE) + 1 if name == DELETE else names.index(FAIL) + 1
    if name == EVIDENCE:  # the last sign of the process before it taints
        end = max(number for number, known in enumerate(names[:end]) if known == TAINT)
    return max(number for number, known in enumerate(names[:end], 1) if known == name)


@pytest.mark.parametrize(
    ("name", "side"),
    [
        pytest.param(EVIDENCE, Side.AFTER, id="while the evidence is not complete"),
        pytest.param(TAINT, Side.BEFORE, id="before the taint is set"),
    ],
)
def test_unfinished_evidence_starts_anew(name: str, side: Side) -> None:
    death = Death(pass_of(name), side)
    assert death.problems == []
    assert death.words == [f"tainted {OUT_OF_SERVICE}=nodeshutdown:NoExecute"]
    (proof,) = death.proofs
    assert death.killed_at is not None
    assert death.killed_at < proof.first_reading < proof.tainted_at


@pytest.mark.parametrize(
    ("name", "side"),
    [
        pytest.param(TAINT, Side.AFTER, id="when the taint is set and nobody heard the answer"),
        pytest.param(FAIL, Side.BEFORE, id="before a pod is said to have failed"),
        pytest.param(FAIL, Side.AFTER, id="between its failure and its deletion"),
        pytest.param(DELETE, Side.BEFORE, id="before it is deleted"),
        pytest.param(DELETE, Side.AFTER, id="when it is deleted and nobody heard the answer"),
    ],
)
def test_a_proof_that_was_written_is_never_lost(name: str, side: Side) -> None:
    """The next process finds it with the taint, writes neither again, and ends what is left."""
    death = Death(pass_of(name), side)
    assert death.problems == []
    assert death.words == [f"tainted {OUT_OF_SERVICE}=nodeshutdown:NoExecute"]
    (proof,) = death.proofs
    assert death.killed_at is not None
    assert proof.tainted_at <= death.killed_at
