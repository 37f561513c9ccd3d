"""The bill: what machines cost, what they must cost at least, and how long pods waited."""

from growth_lab.scenarios.context import Play
from growth_lab.scenarios.cost_report import Bill, bill_of
from growth_lab.scenarios.demo import a_sale, prices
from growth_lab.scenarios.simulated import play_virtually


def a_days_bill() -> tuple[Bill, int, int]:
    """The bill of the evening, and how many nodes and pods there were."""
    found: list[tuple[Bill, int, int]] = []

    async def tell(play: Play) -> None:
        def evening() -> None:
            bought = [node for node in play.trace.nodes if node.startswith("default-")]
            found.append((bill_of(play.trace, prices()), len(bought), len(play.trace.pods)))

        await a_sale(play, evening)

    play_virtually(tell, alone=True)
    return found[0]


def test_the_bill_counts_every_machine_once_and_is_not_below_what_is_proven() -> None:
    bill, nodes, _ = a_days_bill()
    assert bill.machines == nodes > 0
    assert 0 < bill.bound_per_hour <= bill.cost_per_hour
    assert bill.above_bound < 0.25
    assert bill.cost_per_hour == sum(item.count * item.offering.price_per_hour for item in bill.items)


def test_the_machine_that_never_came_and_the_long_wait_for_it_are_on_the_bill() -> None:
    bill, _, pods = a_days_bill()
    assert [(item.offering.id, item.count) for item in bill.given_up] == [("kwok-cx53-fsn1", 1)]
    assert len(bill.waited) == pods
    assert bill.median_wait < 6
    assert bill.worst_wait == bill.waited[-1] > 9


def test_a_day_without_anything_costs_nothing() -> None:
    bill = Bill(currency="EUR", items=(), given_up=(), bound_per_hour=0.0, waited=())
    assert (bill.cost_per_hour, bill.above_bound, bill.median_wait, bill.worst_wait) == (0, 0.0, 0.0, 0.0)
