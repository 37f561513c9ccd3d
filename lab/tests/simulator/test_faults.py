"""Faults on order and at random: for whom, how often, and always the same for one seed."""

import random

import pytest

from growth_lab.simulator.faults import Ask, Fault, Faults


def an_ask(verb: str = "create", resource: str = "pods", user: str = "growth", name: str = "") -> Ask:
    return Ask(user, verb, resource, name, 0.0)


def drawn(faults: Faults, *asks: Ask) -> list[Fault | None]:
    return [happened.fault if (happened := faults.draw(ask)) else None for ask in asks]


def test_without_orders_and_rates_nothing_happens() -> None:
    assert drawn(Faults(), an_ask(), an_ask("watch")) == [None, None]


def test_an_order_waits_for_its_request_and_is_done_so_many_times() -> None:
    faults = Faults()
    faults.order(Fault.LOST, verb="create", resource="nodes", skip=1, times=2)
    others = (an_ask("create", "pods"), an_ask("get", "nodes"))
    nodes = [an_ask("create", "nodes")] * 4
    assert drawn(faults, *others, *nodes) == [None, None, None, Fault.LOST, Fault.LOST, None]
    assert [told.ask.resource for told in faults.told] == ["nodes", "nodes"]


def test_an_order_can_be_meant_for_one_user_or_one_object_and_be_taken_back() -> None:
    faults = Faults()
    faults.order(Fault.INTERNAL, user="growth", name="one")
    back = faults.order(Fault.TIMEOUT, times=9)
    back.times = 0
    asks = (an_ask(name="one", user="admin"), an_ask(name="two"), an_ask(name="one"))
    assert drawn(faults, *asks) == [None, None, Fault.INTERNAL]


def test_random_faults_come_as_often_as_they_should_and_end_when_they_are_switched_off() -> None:
    faults = Faults(random.Random(5))  # noqa: S311 - a seed
    faults.rates = {Fault.TOO_MANY: 0.1, Fault.LOST: 0.05, Fault.CUT: 0.5}
    found = drawn(faults, *[an_ask()] * 4_000)
    assert found.count(Fault.TOO_MANY) == pytest.approx(400, rel=0.2)
    assert found.count(Fault.LOST) == pytest.approx(200, rel=0.2)
    assert Fault.CUT not in found  # it fits watches only
    faults.is_on = False
    assert drawn(faults, *[an_ask()] * 100) == [None] * 100
    faults.order(Fault.LOST)
    assert drawn(faults, an_ask()) == [Fault.LOST]


def test_random_faults_can_be_for_one_user_alone() -> None:
    faults = Faults(random.Random(5))  # noqa: S311 - a seed
    faults.rates, faults.whose = {Fault.LOST: 1.0}, "growth"
    assert drawn(faults, an_ask(user="admin"), an_ask(user="growth")) == [None, Fault.LOST]


@pytest.mark.parametrize("seed", [1, 2])
def test_one_seed_decides_everything(seed: int) -> None:
    def play() -> list[Fault | None]:
        faults = Faults(random.Random(seed))  # noqa: S311 - a seed
        faults.rates = {Fault.GONE: 0.2, Fault.SILENT: 0.2, Fault.CONFLICT: 0.2}
        return drawn(faults, *[an_ask(verb) for verb in ("list", "watch", "patch", "get") * 50])

    assert play() == play()


def test_faults_fit_what_they_happen_to() -> None:
    faults = Faults(random.Random(1))  # noqa: S311 - a seed
    faults.rates = dict.fromkeys(Fault, 0.06)
    found = {verb: set(drawn(faults, *[an_ask(verb)] * 2_000)) for verb in ("get", "list", "create", "watch")}
    watches = {Fault.CUT, Fault.SILENT, Fault.SLOW_WATCH}
    writes = {Fault.CONFLICT, Fault.LATE}
    assert found["watch"] == {None, *Fault} - writes - {Fault.SLOW, Fault.LOST, Fault.INTERNAL_AFTER}
    assert found["create"] == {None, *Fault} - watches - {Fault.GONE}
    assert found["list"] == {None, *Fault} - watches - writes
    assert found["get"] == {None, *Fault} - watches - writes - {Fault.GONE}


def test_a_stop_is_counted_per_user_or_over_all() -> None:
    faults, stopped = Faults(), list[str]()
    faults.stop(2, "before", lambda: stopped.append("growth"), user="growth")
    faults.stop(3, "before", lambda: stopped.append("all"))
    for user in ("admin", "growth", "admin", "growth"):
        faults.leaving(user)
    assert stopped == ["all", "growth"]
