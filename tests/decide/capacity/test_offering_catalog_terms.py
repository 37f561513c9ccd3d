"""What may be bought: open, on trial, closed; and how many."""

from collections.abc import Sequence, Set
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.node_pool import NodePool, OfferingStatus
from growth.api.node_request import NodeRequest
from growth.api.offering import Offering
from growth.api.provider_state import ProviderState
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingCatalog, offering_for, shop_of
from tests.decide.marketplace import (
    HOUR,
    MINUTE,
    NOW,
    PROVISION,
    SECOND,
    SMALL,
    a_cloud,
    a_failed_request,
    a_machine,
    a_pool,
    a_request,
    an_entry,
    an_offering,
)

FSN1, NBG1, LARGE = an_offering(), an_offering(location="nbg1", price=1.1), an_offering("large")
THREE = a_cloud(FSN1, NBG1, LARGE)
OVER = NOW - SECOND


def a_shop(
    *learnt: OfferingStatus,
    cloud: ProviderState = THREE,
    requests: Sequence[NodeRequest] = (),
    pools: Sequence[NodePool] | None = None,
    now: datetime = NOW,
) -> OfferingCatalog:
    stated = [a_pool(learnt=learnt)] if pools is None else pools
    return shop_of({cloud.provider: cloud}, stated, requests, now, PROVISION)


def accesses(shop: OfferingCatalog) -> dict[str, str]:
    return {name: one.access.value for name, one in shop.offered.items()}


def stocks(shop: OfferingCatalog) -> dict[str, int | None]:
    return {one.id: one.stock for one in shop.buyable}


@pytest.mark.parametrize(
    ("learnt", "expected"),
    [
        pytest.param([], "open open open", id="what nobody complained about is open"),
        pytest.param([an_entry(SMALL)], "closed open open", id="one that could not be had, in its location only"),
        pytest.param([an_entry(SMALL, until=OVER)], "on_trial open open", id="its time is over: one is tried"),
        pytest.param([an_entry(SMALL, available_since=NOW)], "open open open", id="one could be had since: open"),
        pytest.param([an_entry("kwok", reason="QuotaExceeded")], "closed closed closed", id="a quota: all of it"),
        pytest.param([an_entry("kwok", reason="QuotaExceeded", until=OVER)], "on_trial on_trial on_trial",
                     id="a quota whose time is over: one is tried"),
        pytest.param([an_entry("kwok-small*", reason="FamilyQuotaExceeded")], "closed closed open",
                     id="a quota of a family: all of that"),
        pytest.param([an_entry("kwok-small*", until=OVER)], "on_trial on_trial open", id="and one of it is tried"),
        pytest.param([an_entry("kwok-s*"), an_entry("kwok-small")], "open open open",
                     id="what is neither an offering nor its family"),
        pytest.param([an_entry("kwok", until=OVER), an_entry("kwok-small*")], "closed closed on_trial",
                     id="the worse of what is known of the provider and of the family"),
        pytest.param([an_entry("kwok", until=OVER), an_entry(SMALL)], "closed on_trial on_trial",
                     id="the worse of what is known of the provider and of the offering"),
        pytest.param([an_entry("hetzner", reason="QuotaExceeded")], "open open open", id="another provider's quota"),
        pytest.param([an_entry(SMALL, until=NOW + HOUR)], "on_trial open open",
                     id="an end that could never have been set is a clock's mistake: one is tried"),
        pytest.param([an_entry(SMALL, level=0, since=NOW, until=None, surprises=1)], "open open open",
                     id="smaller than promised, once: bought as what it is"),
        pytest.param([an_entry(SMALL, level=0, since=NOW, until=None, surprises=2)], "closed open open",
                     id="smaller than promised, twice: not bought"),
    ],
)  # fmt: skip
def test_what_was_learnt_closes(learnt: list[OfferingStatus], expected: str) -> None:
    words = [word.replace("_", " ") for word in expected.split()]
    assert list(accesses(a_shop(*learnt)).values()) == words


def test_a_plan_chooses_from_all_that_is_not_closed() -> None:
    shop = a_shop(an_entry(FSN1.id), an_entry(NBG1.id, until=OVER))
    assert [one.id for one in shop.buyable] == [NBG1.id, LARGE.id]
    assert shop.get(FSN1.id) == FSN1  # known all the same: machines of it may be coming


def test_the_worst_that_several_pools_know_counts_for_all() -> None:
    pools = [
        a_pool("one", learnt=[an_entry(FSN1.id, until=OVER)]),
        a_pool("two", learnt=[an_entry(FSN1.id)]),
        a_pool("three", learnt=[an_entry(FSN1.id, available_since=NOW), an_entry(NBG1.id, until=OVER)]),
    ]
    assert list(accesses(a_shop(pools=pools)).values()) == ["closed", "on trial", "open"]


# A failure that nobody has noted yet


@pytest.mark.parametrize(
    ("learnt", "failed", "expected"),
    [
        pytest.param([], a_failed_request(), "closed", id="it closes at once"),
        pytest.param([], a_failed_request(reason="PoolGone"), "open", id="not if it says nothing about the offering"),
        pytest.param([an_entry(until=OVER)], a_failed_request(), "closed", id="a trial that failed"),
        pytest.param([an_entry(since=NOW - 5 * MINUTE, until=NOW - MINUTE, available_since=NOW - MINUTE)],
                     a_failed_request(), "closed", id="it was open again, and is sold out again"),
        pytest.param([an_entry(since=NOW - MINUTE, until=NOW + MINUTE, available_since=NOW - 30 * SECOND)],
                     a_failed_request(), "closed", id="open again before its time was over, and sold out again"),
        pytest.param([an_entry(since=NOW, until=OVER)], a_failed_request(), "on trial", id="one that was noted"),
    ],
)  # fmt: skip
def test_a_failure_closes_before_it_is_noted(learnt: list[OfferingStatus], failed: NodeRequest, expected: str) -> None:
    assert accesses(a_shop(*learnt, requests=[failed], cloud=a_cloud()))[SMALL] == expected


def test_a_quota_that_is_not_noted_yet_closes_all_of_the_provider() -> None:
    assert set(accesses(a_shop(requests=[a_failed_request(reason="QuotaExceeded")])).values()) == {"closed"}


def test_the_latest_failure_gives_the_reason() -> None:
    requests = [a_failed_request("a", reason="NoMachine"), a_failed_request("b", since=NOW - MINUTE)]
    assert a_shop(requests=requests).offered[SMALL].why == "it was NoMachine"


# A pool's own mistake

NOTHING = frozenset[tuple[str, str]]()


@pytest.mark.parametrize(
    ("learnt", "requests", "closed", "trials"),
    [
        pytest.param([], [a_failed_request(reason="Invalid")], {("default", SMALL)}, (), id="before it is noted"),
        pytest.param([an_entry(reason="Invalid")], [], {("default", SMALL)}, (), id="when it is noted"),
        pytest.param([an_entry(reason="Invalid", until=OVER)], [], NOTHING, (f"default/{SMALL}",),
                     id="its time is over: one is tried"),
        pytest.param([an_entry(reason="Invalid", until=OVER)], [a_request()], {("default", SMALL)}, (),
                     id="one is being tried: no second one"),
        pytest.param([an_entry(reason="Invalid", until=OVER)], [a_request(pool="other")], NOTHING,
                     (f"default/{SMALL}",), id="that of another pool is none of its business"),
        pytest.param([an_entry(reason="Invalid", available_since=NOW)], [], NOTHING, (), id="one could be had since"),
    ],
)  # fmt: skip
def test_what_one_pool_does_wrong_is_closed_for_that_pool(
    learnt: list[OfferingStatus], requests: list[NodeRequest], closed: Set[tuple[str, str]], trials: tuple[str, ...]
) -> None:
    shop = a_shop(pools=[a_pool(learnt=learnt), a_pool("other")], requests=requests)
    assert set(accesses(shop).values()) == {"open"}
    assert (shop.closed, shop.trials) == (closed, trials)
    assert shop.offered[SMALL].offering == FSN1


def test_what_is_known_of_sizes_counts_for_all_although_one_pool_made_a_mistake() -> None:
    shop = a_shop(an_entry(reason="Invalid", surprises=2, lacks={"cpu": "1"}))
    assert shop.offered[SMALL].access is Availability.CLOSED
    assert shop.offered[SMALL].offering.resources["cpu"] == "1"


# Stock


@pytest.mark.parametrize(
    ("read_at", "stock", "learnt", "expected"),
    [
        pytest.param(NOW, 3, an_entry(), "on trial", id="stock that was listed after the failure: one is tried early"),
        pytest.param(NOW - 2 * MINUTE, 3, an_entry(), "closed", id="listed before the failure: it was wrong"),
        pytest.param(NOW, 0, an_entry(), "closed", id="nothing is listed"),
        pytest.param(NOW, None, an_entry(), "closed", id="the provider does not say"),
        pytest.param(NOW, 3, an_entry(reason="NoNode"), "closed", id="stock says nothing about nodes that never come"),
        pytest.param(NOW, 3, an_entry("kwok", reason="QuotaExceeded"), "closed", id="nor about a quota"),
        pytest.param(NOW, 3, an_entry(level=2), "closed", id="a list that was wrong once is not believed again"),
    ],
)
def test_listed_stock_opens_early(read_at: datetime, stock: int | None, learnt: OfferingStatus, expected: str) -> None:
    cloud = a_cloud(an_offering(stock=stock), read_at=read_at)
    assert accesses(a_shop(learnt, cloud=cloud))[SMALL] == expected


def test_a_list_is_not_believed_twice_between_two_looks() -> None:
    cloud = a_cloud(an_offering(stock=3), read_at=NOW - 2 * SECOND)
    in_vain = a_failed_request(since=NOW, asked_at=NOW - 55 * SECOND)  # of the burst that was noted a minute ago
    assert accesses(a_shop(an_entry(), cloud=cloud, requests=[in_vain]))[SMALL] == "closed"


@pytest.mark.parametrize(
    ("requests", "machines", "left"),
    [
        pytest.param([], [], 3, id="as many as are listed"),
        pytest.param(["a Pending"], [], 2, id="less one that was asked for and not answered"),
        pytest.param(["a Pending", "b Pending", "c Pending", "d Pending"], [], 0, id="never less than none"),
        pytest.param(["a Provisioning"], [], 2, id="less one that was sold after the stock was read"),
        pytest.param(["a Ready"], [], 2, id="even if its node is ready already"),
        pytest.param(["a Provisioning"], ["a"], 3, id="one that the provider lists is not in its stock"),
        pytest.param(["a Unmet"], [], 3, id="one that was refused takes nothing"),
    ],
)
def test_stock_is_what_is_left(requests: list[str], machines: list[str], left: int) -> None:
    made = [a_request(name, phase) for name, phase in (one.split() for one in requests)]  # type: ignore[arg-type]
    cloud = a_cloud(an_offering(stock=3), machines=[a_machine(name) for name in machines], read_at=NOW - SECOND)
    learnt = [an_entry(since=NOW, until=NOW, available_since=NOW)]  # of the one that was refused
    assert stocks(a_shop(*learnt, cloud=cloud, requests=made)) == {SMALL: left}


@pytest.mark.parametrize(
    ("stock", "requests", "expected"),
    [
        pytest.param(None, [], 1, id="one, whatever else is wanted"),
        pytest.param(5, [], 1, id="however many are listed"),
        pytest.param(0, [], 0, id="none if none is listed"),
        pytest.param(None, [a_request()], 0, id="none while one is asked for"),
    ],
)
def test_on_trial_one_machine_is_bought_at_a_time(
    stock: int | None, requests: list[NodeRequest], expected: int
) -> None:
    shop = a_shop(an_entry(until=OVER), cloud=a_cloud(an_offering(stock=stock)), requests=requests)
    assert stocks(shop) == {SMALL: expected}


def test_of_a_provider_on_trial_one_machine_is_bought_at_a_time_whichever_it_is() -> None:
    quota = an_entry("kwok", reason="QuotaExceeded", until=OVER)
    assert a_shop(quota).trials == ("kwok",)
    assert a_shop(an_entry(until=OVER)).trials == ()
    asked = a_request(offering=LARGE.id)
    assert stocks(a_shop(quota, requests=[asked])) == {FSN1.id: 0, NBG1.id: 0, LARGE.id: 0}


def test_of_a_family_on_trial_one_machine_is_bought_at_a_time_whichever_it_is() -> None:
    quota = an_entry("kwok-small*", reason="FamilyQuotaExceeded", until=OVER)
    assert a_shop(quota).trials == ("kwok-small*",)
    assert stocks(a_shop(quota)) == {FSN1.id: 1, NBG1.id: 1, LARGE.id: None}
    asked = a_request(offering=NBG1.id)
    assert stocks(a_shop(quota, requests=[asked])) == {FSN1.id: 0, NBG1.id: 0, LARGE.id: None}


def test_a_quota_of_a_family_closes_it_before_it_is_noted() -> None:
    refused = a_failed_request(reason="FamilyQuotaExceeded")
    assert list(accesses(a_shop(requests=[refused])).values()) == ["closed", "closed", "open"]


# What is believed


def test_an_offering_is_believed_to_be_what_its_nodes_turned_out_to_be() -> None:
    pools = [
        a_pool("one", learnt=[OfferingStatus(SMALL, lacks={"cpu": "500m", "memory": "1Gi"})]),
        a_pool("two", learnt=[OfferingStatus(SMALL, lacks={"cpu": "1"})]),
    ]
    shop = a_shop(pools=pools)
    assert shop.offered[SMALL].access is Availability.OPEN
    assert shop.offered[SMALL].offering.resources == {"cpu": "1", "memory": "3221225472", "pods": "110"}
    assert (
        shop.offered[NBG1.id].offering.resources == shop.offered[SMALL].offering.resources
    )  # one type, wherever it stands
    assert shop.disappointing == {SMALL, NBG1.id}


@pytest.mark.parametrize(
    ("offering", "learnt", "expected"),
    [
        pytest.param(NBG1.id, [], NBG1, id="an offering is itself"),
        pytest.param("kwok-small", [], FSN1, id="without a location it is the cheapest"),
        pytest.param("KWOK-Small", [], FSN1, id="in whatever case"),
        pytest.param("kwok-small", [an_entry(FSN1.id)], NBG1, id="that can be had"),
        pytest.param("kwok-tiny", [], None, id="nobody sells it"),
    ],
)
def test_what_a_request_means(offering: str, learnt: list[OfferingStatus], expected: Offering | None) -> None:
    assert offering_for(a_request(offering=offering), a_shop(*learnt)) == expected


# Promises

_INSTANTS = st.integers(-200, 200).map(lambda minutes: NOW + minutes * MINUTE)
_ENTRIES = st.builds(
    an_entry,
    st.sampled_from([FSN1.id, NBG1.id, "kwok"]),
    level=st.integers(1, 5),
    since=_INSTANTS,
    until=_INSTANTS,
    reason=st.sampled_from(["OutOfStock", "QuotaExceeded", "Invalid"]),
    available_since=st.none() | _INSTANTS,
)
_REQUESTS = st.builds(
    a_request,
    st.sampled_from("abcdef"),
    st.sampled_from(["Pending", "Provisioning", "Unmet"]),
    offering=st.sampled_from([FSN1.id, NBG1.id, LARGE.id]),
    since=_INSTANTS,
    asked_at=_INSTANTS,
)


@given(st.lists(_ENTRIES, max_size=4), st.lists(_REQUESTS, max_size=4))
def test_whatever_the_clocks_did_everything_may_be_tried_when_all_times_are_over(
    learnt: list[OfferingStatus], requests: list[NodeRequest]
) -> None:
    later = NOW + 300 * MINUTE + PROVISION.forget_after
    shop = a_shop(*learnt, requests=requests, now=later)
    assert Availability.CLOSED not in {one.access for one in shop.offered.values()}


@given(st.lists(_ENTRIES, max_size=4), st.lists(_REQUESTS, max_size=4))
def test_an_offering_on_trial_is_never_sold_twice_at_once(
    learnt: list[OfferingStatus], requests: list[NodeRequest]
) -> None:
    shop = a_shop(*learnt, requests=requests)
    on_trial = [name for name, one in shop.offered.items() if one.access is Availability.ON_TRIAL]
    pending = [one.spec.target_offering for one in requests if one.status.phase == "Pending"]
    for name in on_trial:
        assert (shop.offered[name].offering.stock or 0) + min(1, pending.count(name)) <= 1
