"""Beside a live Kueue the queue decides nothing, and says what it saw."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import Hold, RecordEvent
from growth.api.change import Change, ChangeType
from growth.api.queue.kueue_installation import KUEUE_DEPLOYMENTS, KUEUE_LEASES, LEASE_NAME
from growth.decide.contract import Decision
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.decider import CAPABILITY
from growth.observe.lease_heartbeats import KueueLeases
from tests.builders import Json
from tests.decide.passes import Given, deciding
from tests.decide.queue.stage import Stage, a_stage, read, snapshot_of

decide = deciding(CAPABILITY)


def a_deployment(*, wanted: int | None = 1, there: int = 0) -> Json:
    spec = {} if wanted is None else {"replicas": wanted}
    meta = {"name": "kueue-controller-manager", "namespace": "kueue-system"}
    return {"metadata": meta, "spec": spec, "status": {"replicas": there}}


class Neighbourhood:
    """A stage on which a job could be admitted, and a Lease of Kueue's that somebody may renew."""

    def __init__(self) -> None:
        self.stage: Stage = a_stage()
        self.stage.a_job("first")
        self.leases = KueueLeases(lambda: self.stage.now)
        self.jumped_at: datetime | None = None
        self.memory: object = None

    def renew(self, renewed: str = "2026-03-02T09:00:00.000000Z", holder: str = "manager-0") -> None:
        meta = {"name": LEASE_NAME, "namespace": "kueue-system", "uid": "u"}
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
        lease = read(KUEUE_LEASES, {"metadata": meta, "spec": spec})
        self.leases.hear([Change(ChangeType.MODIFIED, lease, None)])

    def wait(self, seconds: float) -> None:
        self.stage.now += timedelta(seconds=seconds)

    def look(self) -> Decision[Any]:
        seen = snapshot_of(self.stage.objects, self.stage.now)
        seen = msgspec.structs.replace(seen, kueue_leases=self.leases)
        decision = decide(seen, Given(carry=self.memory, steady_since=self.jumped_at), self.stage.settings)
        self.memory = decision.carry
        return decision

    @property
    def is_held(self) -> bool:
        said = self.look().said
        if any(isinstance(one, Hold) and one.reason == "KueueIsAlive" for one in said):
            assert {type(one) for one in said} == {Hold, RecordEvent}, "nothing at all is written"
            return True
        assert said, "there is something to do"
        return False


def test_without_a_kueue_the_queue_is_at_work() -> None:
    assert not Neighbourhood().is_held


@pytest.mark.parametrize(
    ("deployment", "is_alive"),
    [
        pytest.param(a_deployment(wanted=1), True, id="one that is meant to run"),
        pytest.param(a_deployment(wanted=1, there=1), True, id="one that runs"),
        pytest.param(a_deployment(wanted=0, there=1), True, id="one that is being stopped"),
        pytest.param(a_deployment(wanted=0), False, id="one that was stopped"),
        pytest.param(a_deployment(wanted=None), False, id="one of which nobody says how many"),
    ],
)
def test_a_deployment_of_kueue_holds_the_queue_whatever_its_pods_do(deployment: Json, is_alive: bool) -> None:  # noqa: FBT001
    here = Neighbourhood()
    here.stage.put(KUEUE_DEPLOYMENTS, deployment)
    assert here.is_held == is_alive


def test_it_says_what_it_saw_and_what_to_do() -> None:
    here = Neighbourhood()
    here.stage.put(KUEUE_DEPLOYMENTS, a_deployment())
    decision = here.look()
    hold, event = decision.said
    assert isinstance(event, RecordEvent)
    assert event.type == "Warning"
    assert hold.subject == event.subject
    assert (hold.subject.kind, hold.subject.namespace) == ("Deployment", "kueue-system")
    assert hold.why == event.why
    assert "Deployment kueue-system/kueue-controller-manager runs" in hold.why
    assert "kubectl --namespace kueue-system scale deployment kueue-controller-manager --replicas=0" in hold.why
    assert "queue.enabled: false" in hold.why
    assert decision.requeue_at is None, "the end of a Deployment is an event"


@pytest.mark.parametrize("renewed", ["1999-01-01T00:00:00Z", "2026-03-02T09:00:00Z", "2099-01-01T00:00:00Z"])
def test_a_lease_that_is_renewed_holds_it_whatever_clock_its_holder_has(renewed: str) -> None:
    here = Neighbourhood()
    here.renew(renewed)
    for second in range(4):
        here.wait(10)
        here.renew(renewed.replace("Z", f".{second + 1}Z"))
        assert here.is_held


def test_a_lease_that_is_found_and_never_renewed_holds_it_for_as_long_as_it_is_good_for() -> None:
    here = Neighbourhood()
    here.renew("2020-01-01T00:00:00Z")
    assert here.is_held, "its holder may have a clock of its own"
    wake_at = here.look().requeue_at
    assert wake_at == here.stage.now + timedelta(seconds=17)
    here.wait(16.9)
    assert here.is_held
    here.wait(0.1)
    assert not here.is_held, "it is decided again when it was asked for"


def test_a_lease_that_was_released_holds_nothing() -> None:
    here = Neighbourhood()
    here.renew()
    here.renew(holder="")
    assert not here.is_held


def test_a_clock_that_jumps_forward_makes_nobody_dead() -> None:
    here = Neighbourhood()
    here.renew()
    here.wait(3_600)
    here.jumped_at = here.stage.now
    assert here.is_held
    here.wait(17)
    assert not here.is_held


def test_a_kueue_that_comes_alive_later_stops_everything_and_the_queue_goes_on_when_it_is_gone() -> None:
    here = Neighbourhood()
    assert not here.is_held
    here.stage.put(KUEUE_DEPLOYMENTS, a_deployment())
    assert here.is_held
    here.stage.objects.pop((KUEUE_DEPLOYMENTS, "kueue-system", "kueue-controller-manager"))
    assert not here.is_held


def test_what_was_given_and_is_not_seen_is_not_forgotten_meanwhile() -> None:
    here = Neighbourhood()
    for said in here.look().said:
        here.stage.take(said)
    here.look()
    given = here.memory
    assert isinstance(given, QueueCarry)
    assert given.assumed
    here.stage.put(KUEUE_DEPLOYMENTS, a_deployment())
    here.look()
    assert isinstance(here.memory, QueueCarry)
    assert here.memory.assumed == given.assumed
