"""How much is left for whom."""

from hypothesis import given
from hypothesis import strategies as st

from growth.api.queue.quotas import FlavorQuotas, ResourceGroup, ResourceQuota
from growth.decide.queue.quota_tree import Quota, QuotaNode, quotas_of

CPU = ("any", "cpu")


def member(
    nominal: int, parent: QuotaNode | None = None, *, borrow: int | None = None, lend: int | None = None
) -> QuotaNode:
    return QuotaNode("one", {CPU: Quota(nominal, borrow, lend)}, parent)


def test_a_queue_alone_has_its_own_quota_and_no_more() -> None:
    queue = member(10)
    queue.use(CPU, 4)
    assert (queue.available(CPU), queue.capacity(CPU)) == (6, 10)


def test_what_is_used_beyond_the_quota_is_shown_as_less_than_nothing_left() -> None:
    queue = member(10)
    queue.use(CPU, 12)
    assert queue.available(CPU) == -2


def test_a_resource_that_nobody_has_is_not_there() -> None:
    assert member(10).available(("other", "cpu")) == 0


def test_a_queue_borrows_what_another_one_of_its_cohort_does_not_use() -> None:
    cohort = QuotaNode("cohort", {})
    first, second = member(10, cohort), member(5, cohort)
    assert first.available(CPU) == 15
    second.use(CPU, 3)
    assert first.available(CPU) == 12
    first.use(CPU, 12)
    assert (first.available(CPU), second.available(CPU)) == (0, 0)


def test_nobody_borrows_more_than_its_limit_or_gets_what_is_not_lent() -> None:
    cohort = QuotaNode("cohort", {})
    first, second = member(10, cohort, borrow=2), member(10, cohort, lend=1)
    assert first.capacity(CPU) == first.available(CPU) == 11
    first.use(CPU, 11)
    assert second.available(CPU) == 9, "what it does not lend is still its own"
    assert member(10, QuotaNode("other", {}), borrow=2).available(CPU) == 10


def test_what_a_queue_never_lends_is_its_own_however_full_its_cohort_is() -> None:
    cohort = QuotaNode("cohort", {})
    first, second = member(10, cohort), member(10, cohort, lend=4)
    first.use(CPU, 20)
    assert second.available(CPU) == 6


def test_cohorts_of_cohorts_lend_to_each_other() -> None:
    root = QuotaNode("root", {})
    left, right = QuotaNode("left", {}, root), QuotaNode("right", {CPU: Quota(4)}, root)
    queue = member(1, left)
    assert queue.available(CPU) == 5
    member(2, right)
    assert queue.available(CPU) == 7


def test_quota_is_counted_as_requests_are() -> None:
    resources = (ResourceQuota("cpu", "1500m"), ResourceQuota("memory", "1Gi"))
    group = ResourceGroup(("cpu", "memory"), (FlavorQuotas("any", resources),))
    assert quotas_of([group]) == {("any", "cpu"): Quota(1500), ("any", "memory"): Quota(2**30)}


AMOUNTS = st.integers(0, 20)
LIMITS = st.none() | AMOUNTS


@given(st.lists(st.tuples(AMOUNTS, LIMITS, LIMITS), min_size=1, max_size=5), st.data())
def test_taking_what_is_left_never_takes_more_than_there_is(
    quotas: list[tuple[int, int | None, int | None]], data: st.DataObject
) -> None:
    """Whoever takes no more than is available for it leaves nobody with less than nothing."""
    cohort = QuotaNode("cohort", {})
    members = [member(nominal, cohort, borrow=borrow, lend=lend) for nominal, borrow, lend in quotas]
    for _ in range(data.draw(st.integers(0, 12))):
        one = data.draw(st.sampled_from(members))
        one.use(CPU, data.draw(st.integers(0, max(0, one.available(CPU)))))
        assert all(other.available(CPU) >= 0 for other in members)
        assert sum(other.used(CPU) for other in members) <= sum(nominal for nominal, _, _ in quotas)
        assert all(other.used(CPU) <= other.capacity(CPU) for other in members)


@given(st.lists(st.tuples(AMOUNTS, LIMITS, LIMITS), min_size=1, max_size=5), st.data())
def test_what_is_given_back_is_there_again(
    quotas: list[tuple[int, int | None, int | None]], data: st.DataObject
) -> None:
    cohort = QuotaNode("cohort", {})
    members = [member(nominal, cohort, borrow=borrow, lend=lend) for nominal, borrow, lend in quotas]
    before = [one.available(CPU) for one in members]
    taken = [(one, data.draw(AMOUNTS)) for one in members]
    for one, amount in taken:
        one.use(CPU, amount)
    for one, amount in taken:
        one.use(CPU, -amount)
    assert [one.available(CPU) for one in members] == before
