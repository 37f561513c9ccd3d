"""Whose quota it is that somebody borrows, and what keeps somebody from borrowing more."""

from hypothesis import given
from hypothesis import strategies as st

from growth.cli.queue_offers import borrowed_by, lent_in, limits_on
from growth.decide.queue.quota_tree import Quota, QuotaNode

CPU = ("any", "cpu")


def a_member(
    name: str,
    nominal: int,
    parent: QuotaNode | None = None,
    *,
    used: int = 0,
    borrowing: int | None = None,
    lending: int | None = None,
) -> QuotaNode:
    member = QuotaNode(name, {CPU: Quota(nominal, borrowing, lending)}, parent)
    member.use(CPU, used)
    return member


def lent(*members: QuotaNode) -> list[int]:
    found = lent_in(members[0].root, CPU)
    return [found.get(id(member), 0) for member in members]


def test_what_one_borrows_another_lends() -> None:
    all_of_them = QuotaNode("all", {})
    borrower, lender = a_member("a", 4, all_of_them, used=7), a_member("b", 4, all_of_them, used=1)
    assert borrowed_by(borrower, CPU) == 3
    assert lent(borrower, lender) == [0, 3]


def test_what_the_cohort_has_itself_is_lent_first() -> None:
    all_of_them = a_member("all", 2)
    borrower, lender = a_member("a", 4, all_of_them, used=7), a_member("b", 4, all_of_them)
    assert lent(all_of_them, borrower, lender) == [2, 0, 1]


def test_several_lend_in_proportion_to_what_they_have_left() -> None:
    all_of_them = QuotaNode("all", {})
    borrower = a_member("a", 0, all_of_them, used=6)
    assert lent(borrower, a_member("b", 10, all_of_them, used=4), a_member("c", 3, all_of_them)) == [0, 4, 2]


def test_the_nearest_cohort_lends_first() -> None:
    top = QuotaNode("top", {})
    near = QuotaNode("near", {}, top)
    borrower, neighbour = a_member("a", 0, near, used=5), a_member("b", 3, near)
    assert lent(borrower, neighbour, a_member("far", 9, top)) == [0, 3, 2]


def test_nobody_lends_more_than_its_limit() -> None:
    all_of_them = QuotaNode("all", {})
    borrower, keeper = a_member("a", 0, all_of_them, used=400), a_member("b", 1000, all_of_them, lending=100)
    assert lent(borrower, keeper, a_member("c", 900, all_of_them)) == [0, 40, 360]


def test_who_has_no_cohort_borrows_of_nobody() -> None:
    assert borrowed_by(a_member("alone", 2, used=3), CPU) == 0


_QUEUES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12), st.booleans()), min_size=1, max_size=6)


@given(_QUEUES, st.integers(0, 5), st.integers(0, 5))
def test_as_much_is_lent_as_is_borrowed_and_nobody_lends_what_it_uses(
    queues: list[tuple[int, int, bool]], above: int, inside: int
) -> None:
    top = a_member("top", above)
    deep = a_member("deep", inside, top)
    members = [
        a_member(f"q{number}", nominal, deep if is_deep else top, used=used)
        for number, (nominal, used, is_deep) in enumerate(queues)
    ]
    borrowed = sum(borrowed_by(one, CPU) for one in members)
    there = above + inside + sum(nominal for nominal, _, _ in queues)
    given_away = lent(top, deep, *members)
    assert all(amount >= 0 for amount in given_away)
    assert sum(given_away) == min(borrowed, borrowed + there - sum(used for _, used, _ in queues))
    for member, amount in zip((top, deep, *members), given_away, strict=True):
        assert amount <= max(0, member.nominal(CPU) - (member.used(CPU) if not member.children else 0))


def limits(member: QuotaNode) -> list[tuple[str, str]]:
    return [(one.of, one.field) for one in limits_on(member, CPU)]


def test_who_may_borrow_no_more_is_told_that_alone() -> None:
    all_of_them = QuotaNode("all", {})
    bound = a_member("a", 2, all_of_them, used=3, borrowing=1)
    a_member("b", 8, all_of_them, lending=5)
    assert limits(bound) == [("a", "borrowingLimit")]
    (one,) = limits_on(bound, CPU)
    assert one.words == "it may borrow 0.001 cpu at most (borrowingLimit), and has borrowed 0.001 cpu"


def test_a_cohort_may_be_what_borrows_no_more() -> None:
    top = QuotaNode("top", {})
    cohort = a_member("near", 0, top, borrowing=1)
    member = a_member("a", 2, cohort, used=3)
    a_member("far", 8, top)
    assert limits(member) == [("near", "borrowingLimit")]


def test_who_keeps_something_to_itself_is_named() -> None:
    all_of_them = QuotaNode("all", {})
    member = a_member("a", 2, all_of_them, used=3)
    a_member("b", 8, all_of_them, used=2, lending=1)
    a_member("c", 8, all_of_them, used=8, lending=0)
    assert limits(member) == [("b", "lendingLimit")]


def test_without_limits_there_is_nothing_to_tell() -> None:
    all_of_them = QuotaNode("all", {})
    member = a_member("a", 2, all_of_them, used=2)
    a_member("b", 8, all_of_them, used=8)
    assert limits(member) == []
