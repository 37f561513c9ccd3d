"""Leader election on a virtual clock: what happens, and when."""

import asyncio
import math
from datetime import datetime, timedelta

import pytest

from growth.api.kinds import LEASES
from growth.kube.client import Client
from growth.kube.errors import BadAccess, Fenced, Forbidden, Invalid, KubeError, Unreachable
from growth.kube.leader_election import LeaderLease, LeaseTerms, unique_identity
from growth.kube.lease_record import MISSING_HOLDER
from growth.kube.patches import MergePatch
from growth.kube.transport import Method, Request
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.fake_api import FakeSend
from tests.kube.replica import NOON, PATH, TERMS, Replica, an_api, spec_of, virtual, write


@virtual
async def test_a_free_lease_is_taken_at_once() -> None:
    replica = Replica(api := an_api())
    assert replica.lease.fence() == -math.inf
    replica.start()
    assert await replica.leads_within(0.01)
    assert replica.lease.fence() == pytest.approx(10)
    assert spec_of(api) == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 1,
        "acquireTime": "2026-01-01T12:00:00.000000Z",
        "renewTime": "2026-01-01T12:00:00.000000Z",
    }


@pytest.mark.parametrize("renewed", [NOON - timedelta(days=9999), NOON, NOON + timedelta(days=9999)])
def test_a_silent_holder_is_given_its_full_duration_whatever_its_wall_clock_said(renewed: datetime) -> None:
    async def story() -> None:
        replica = Replica(api := an_api("other", renewed=renewed))
        replica.start()
        assert not await replica.leads_within(14.9)
        assert await replica.leads_within(0.2)
        assert spec_of(api)["leaseTransitions"] == 5

    run_virtually(story())


@virtual
async def test_the_holders_own_duration_counts_and_not_ours() -> None:
    replica = Replica(an_api("other", duration=60))
    replica.start()
    assert not await replica.leads_within(59.9)
    assert await replica.leads_within(0.2)


@virtual
async def test_a_renewed_lease_is_never_taken() -> None:
    leader, other = Replica(api := an_api(), "a"), Replica(api, "b")
    leader.start()
    assert await leader.leads_within(1)
    other.start()
    assert not await other.leads_within(3600)
    assert spec_of(api)["leaseTransitions"] == 1


@virtual
async def test_a_leader_whose_wall_clock_stands_still_still_renews() -> None:
    leader, other = Replica(api := an_api(), "a"), Replica(api, "b")
    leader.now = lambda: NOON
    leader.start()
    assert await leader.leads_within(1)
    other.start()
    assert not await other.leads_within(3600)


@virtual
async def test_labels_on_the_lease_do_not_keep_a_dead_holder_alive() -> None:
    replica = Replica(api := an_api("dead"))
    replica.start()
    for number in range(14):
        await asyncio.sleep(1)
        await Replica(api).client.patch(
            LEASES, "leader", MergePatch({"metadata": {"labels": {"n": str(number)}}}), "growth"
        )
    assert await replica.leads_within(1.1)


@virtual
async def test_a_missing_lease_is_made_anew_and_held_by_nobody_for_a_full_duration() -> None:
    api = an_api()
    del api.objects[PATH]
    replica, other = Replica(api, "a"), Replica(api, "b")
    replica.start()
    other.start()
    await asyncio.sleep(1)
    assert spec_of(api)["holderIdentity"] == MISSING_HOLDER
    await asyncio.sleep(13.9)
    assert not replica.terms
    assert not other.terms
    await asyncio.sleep(0.2)
    assert len(replica.terms) + len(other.terms) == 1


@virtual
async def test_a_deleted_lease_ends_the_term_and_the_next_one_begins_after_a_full_duration() -> None:
    leader, other = Replica(api := an_api(), "a"), Replica(api, "b")
    leader.start()
    assert await leader.leads_within(1)
    other.start()
    await asyncio.sleep(60)
    del api.objects[PATH]
    deleted_at = leader.clock()
    await asyncio.sleep(2.1)
    assert not leader.leads.is_set()
    await asyncio.wait({asyncio.create_task(r.leads.wait()) for r in (leader, other)}, return_when="FIRST_COMPLETED")
    assert leader.clock() >= deleted_at + 15


@virtual
async def test_the_fence_counts_from_before_the_renewal_was_sent() -> None:
    replica = Replica(an_api())

    async def slowly(_: Request) -> None:
        await asyncio.sleep(1.5)

    replica.start()
    assert await replica.leads_within(1)
    replica.send.before = replica.send.after = slowly
    await asyncio.sleep(5.001)  # sent at 2.0, answered at 5.0
    assert replica.lease.fence() == pytest.approx(12)


@virtual
async def test_an_answer_that_comes_after_the_deadline_does_not_open_the_fence_again() -> None:
    replica = Replica(an_api())
    replica.start()
    assert await replica.leads_within(1)
    stuck = asyncio.Event()

    async def stick(_: Request) -> None:
        await stuck.wait()

    replica.send.after = stick
    await asyncio.sleep(12)
    assert replica.lease.fence() == -math.inf
    stuck.set()
    with pytest.raises(Fenced):
        await write(replica.terms[0])


@virtual
async def test_a_leader_that_cannot_renew_stops_at_its_deadline_and_leads_again_when_the_server_is_back() -> None:
    replica = Replica(an_api())
    replica.start()
    assert await replica.leads_within(1)

    async def refuse(_: Request) -> None:
        raise Unreachable("refused", sent=False)

    async def pass_(_: Request) -> None:
        pass

    replica.send.before = refuse
    await asyncio.sleep(9.9)
    assert replica.leads.is_set()
    await asyncio.sleep(0.2)
    assert not replica.leads.is_set()
    replica.send.before = pass_
    assert await replica.leads_within(3)
    await write(replica.terms[1])
    with pytest.raises(Fenced):  # what is left of the first term stays locked out, although we lead again
        await write(replica.terms[0])


@virtual
async def test_lost_answers_to_renewals_do_not_cost_the_lease() -> None:
    replica = Replica(an_api())
    replica.start()
    assert await replica.leads_within(1)
    patches = 0

    async def lose_every_third_answer(request: Request) -> None:
        nonlocal patches
        patches += request.method is Method.PATCH
        if request.method is Method.PATCH and patches % 3 == 0:
            raise Unreachable("reset", sent=True)

    replica.send.after = lose_every_third_answer
    await asyncio.sleep(600)
    assert len(replica.terms) == 1


@virtual
async def test_a_request_that_hangs_costs_one_attempt_and_not_the_lease() -> None:
    replica = Replica(an_api())
    replica.start()
    assert await replica.leads_within(1)
    hung = 0

    async def hang_twice(_: Request) -> None:
        nonlocal hung
        hung += 1
        if hung <= 2:
            await asyncio.Event().wait()

    replica.send.before = hang_twice
    await asyncio.sleep(60)
    assert len(replica.terms) == 1


@virtual
async def test_a_leader_that_reads_another_name_stops_at_once() -> None:
    replica = Replica(api := an_api())
    replica.start()
    assert await replica.leads_within(1)
    api.put(PATH, {**api.objects[PATH], "spec": {**spec_of(api), "holderIdentity": "usurper"}})
    await asyncio.sleep(2.1)
    assert not replica.leads.is_set()
    assert replica.lease.holder == "usurper"


@pytest.mark.parametrize(
    "hopeless",
    [
        pytest.param(Forbidden("no", status=403, reason="Forbidden"), id="a role that lacks the verb"),
        pytest.param(BadAccess("kubeconfig", "the token has expired", "get another"), id="hopeless credentials"),
        pytest.param(Invalid("no such name", status=422, reason="Invalid"), id="a lease that cannot be"),
    ],
)
def test_what_only_a_person_can_mend_stops_the_start(hopeless: KubeError) -> None:
    async def story() -> None:
        replica = Replica(an_api())

        async def fail(_: Request) -> None:
            raise hopeless

        replica.send.before = fail
        with pytest.raises(type(hopeless)):
            await asyncio.wait_for(replica.start(), 60)

    run_virtually(story())


@pytest.mark.parametrize(("lease", "renew", "retry"), [(10, 10, 2), (15, 2, 2), (15, 10, 0), (5, 10, 2)])
def test_terms_that_leave_no_gap_are_refused(lease: float, renew: float, retry: float) -> None:
    with pytest.raises(ValueError, match="retry period < renew deadline < lease duration"):
        LeaseTerms(lease_duration_seconds=lease, renew_deadline_seconds=renew, retry_period_seconds=retry)


def test_a_duration_is_rounded_up_on_the_wire() -> None:
    terms = LeaseTerms(lease_duration_seconds=2.1, renew_deadline_seconds=1, retry_period_seconds=0.2)
    assert terms.whole_duration_seconds == 3


def test_no_two_processes_of_one_host_have_one_identity() -> None:
    assert unique_identity("host") != unique_identity("host")


@virtual
async def test_renewals_do_not_wait_behind_the_work() -> None:
    replica, work = Replica(api := an_api()), FakeSend(api, asyncio.get_running_loop().time)

    async def hang(_: Request) -> None:
        await asyncio.Event().wait()

    work.before = hang
    lease = LeaderLease(replica.client, "leader", "growth", "a", work=Client(work), terms=TERMS, now=lambda: NOON)
    task = asyncio.create_task(lease.run(write))
    await asyncio.sleep(3600)
    assert not task.done()
    assert lease.fence() > replica.clock()
    assert {request.path for request in replica.send.sent} == {PATH}
