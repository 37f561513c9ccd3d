"""docs/hetzner-sandbox.md shows what really works."""

import re
from pathlib import Path

import msgspec

from growth_lab.hetzner_sandbox.faults import Fault
from growth_lab.hetzner_sandbox.routes import every_call

PAGE = (Path(__file__).parents[3] / "docs" / "hetzner-sandbox.md").read_text()


def test_every_order_on_the_page_can_be_given_and_every_kind_is_there() -> None:
    orders = [msgspec.json.decode(text, type=Fault) for text in re.findall(r"`(\{\"kind\".*?\})`", PAGE)]
    kinds = {msgspec.to_builtins(order)["kind"] for order in orders}
    assert len(orders) == 14
    assert kinds == {
        "sold_out",
        "quota",
        "rate_limit",
        "refuse",
        "slow",
        "lost",
        "action_fails",
        "vanish",
        "power_cut",
        "cut_off",
    }


def test_the_example_runs() -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/hetzner-sandbox.md", "exec"), {})  # noqa: S102 - our own page


def test_every_action_is_on_the_page() -> None:
    names = {path.rpartition("/")[2] for method, path in every_call() if method == "POST" and "/actions/" in path}
    assert {name for name in names if name not in PAGE} == set()
