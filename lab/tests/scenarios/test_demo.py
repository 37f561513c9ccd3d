"""The demo's story: what Growth does in it, as somebody saw who only looked on."""

from functools import cache

from growth_lab.scenarios.demo import a_sale
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.trace import Seen


@cache
def a_day() -> list[Seen]:
    return play_virtually(a_sale, alone=True)


def test_the_plan_after_a_stock_out_goes_around_it_at_once() -> None:
    seen = a_day()
    unmet = max(one.at for one in seen if one.what == "Unmet")
    around = min(one.at for one in seen if one.what == "asks for kwok-cx53-nbg1")
    assert 0 <= around - unmet < 1
    assert not [one for one in seen if one.what == "asks for kwok-cx53-fsn1" and one.at > unmet]


def test_a_node_that_never_comes_is_given_up_and_its_pods_get_another_machine() -> None:
    seen = a_day()
    given_up = [one for one in seen if one.subject.startswith("NodeRequest") and one.what == "Deprovisioning"]
    assert len(given_up) == 1
    assert any(one.what.startswith("asks for") and one.at > given_up[0].at for one in seen)
    assert sum(one.subject.startswith("Pod") and one.what == "Running" for one in seen) == 99
