"""``growth crds`` and the copy that the chart carries."""

import yaml
from click.testing import CliRunner

from growth.cli.crds import crds, render
from tests.repository import ROOT

CHART = ROOT / "charts" / "growth" / "crds.yaml"
QUEUE = CHART.with_name("queue-crds.yaml")


def test_the_chart_carries_what_the_classes_say() -> None:
    assert CHART.read_text() == render(), "the chart's copy is stale; renew it: growth crds > charts/growth/crds.yaml"


def test_the_chart_carries_the_kinds_of_the_queue_apart() -> None:
    """To apply them where Kueue is installed would take its definitions from it."""
    assert QUEUE.read_text() == render(is_queue=True), "renew it: growth crds --queue > charts/growth/queue-crds.yaml"
    result = CliRunner().invoke(crds, ["--queue"])
    groups = {definition["spec"]["group"] for definition in yaml.safe_load_all(result.output)}
    assert groups == {"kueue.x-k8s.io"}


def test_the_command_prints_all_definitions() -> None:
    result = CliRunner().invoke(crds)
    assert result.exit_code == 0
    assert [definition["kind"] for definition in yaml.safe_load_all(result.output)] == ["CustomResourceDefinition"] * 4


def test_the_text_has_no_anchors_and_no_long_lines() -> None:
    assert "&id" not in render()
    assert max(map(len, render().splitlines())) <= 160
