"""docs/failover-operations.md keeps its word: metrics, labels, watches and bounds are those of the code."""

import re
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pytest
import yaml

from growth.api import actions
from growth.api.actions import Result
from growth.api.growth_status import Timeline, TimelineStep, key_of
from growth.api.kinds import LEASES
from growth.api.machine import Power
from growth.api.out_of_service import PROOF, Proof
from growth.decide.failover.evidence import Finding
from growth.decide.pipeline import CAPABILITIES
from growth.run.metrics import Metrics
from tests.repository import ROOT

PAGE: Final = (ROOT / "docs" / "failover-operations.md").read_text(encoding="utf-8").replace("\\|", "|")
SOURCES: Final = "".join(
    path.read_text(encoding="utf-8")
    for path in [
        *(ROOT / "src/growth/decide/failover").glob("*.py"),
        ROOT / "src/growth/decide/writes/unreachable_event.py",
    ]
)
NOW: Final = datetime(2026, 3, 1, 9, 0, 0, 123_456, tzinfo=UTC)
# The longest that Kubernetes allows for what is in them.
_NAME, _NAMESPACE = "n" * 253, "n" * 63


# Shown by a collector that reads the cluster cache.
_READ_FROM_CACHE: Final = {"growth_pods_waiting"}


def samples() -> set[str]:
    """Every name by which Prometheus knows a series, with and without labels."""
    families = list(Metrics().registry.collect())
    names = {sample.name for family in families for sample in family.samples} | {one.name for one in families}
    return names | {f"{one.name}_total" for one in families if one.type == "counter"} | _READ_FROM_CACHE


def test_every_metric_of_the_page_exists() -> None:
    named = set(re.findall(r"\bgrowth_[a-z_]+", PAGE))
    assert len(named) > 10
    assert named - samples() == set()


def test_every_rule_is_well_formed_and_asks_for_a_metric() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    rules: list[dict[str, Any]] = yaml.safe_load(text)["groups"][0]["rules"]
    assert len(rules) == 6
    for rule in rules:
        assert rule["alert"].startswith(("Failover", "OutOfService"))
        assert re.search(r"\bgrowth_", rule["expr"])
        assert rule["annotations"]["summary"]


def test_every_objective_of_time_is_a_bucket() -> None:
    bounds = set(re.findall(r'le="([\d.]+)"', PAGE))
    assert bounds == {"60.0", "80.0"}
    text = Metrics().text().decode()
    assert [bound for bound in bounds if f'growth_failover_seconds_bucket{{le="{bound}"}}' not in text] == []


@pytest.mark.parametrize(
    ("label", "known"),
    [
        pytest.param("state", {*Finding, "OutOfService"}, id="state"),
        pytest.param("result", set(Result), id="result"),
        pytest.param("action", set(vars(actions)), id="action"),
        pytest.param("reason", set(re.findall(r'"([A-Z]\w+)"', SOURCES)) | set(Finding), id="reason"),
    ],
)
def test_every_label_has_values_that_the_code_sets(label: str, known: set[str]) -> None:
    stated = {one for value in re.findall(rf'{label}=~?"([^"]+)"', PAGE) for one in value.split("|")}
    assert stated
    assert stated - known == set()


def test_watches_are_those_of_the_capability_and_leases_are_its_own() -> None:
    table = PAGE.partition("| watch | also for |")[2].partition("\n\n")[0]
    stated = {kind for row in table.splitlines() for kind in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    (failover,) = (one for one in CAPABILITIES if one.name == "failover")
    others = {kind for one in CAPABILITIES if one is not failover for kind in one.watches}
    assert stated == {kind.plural for kind in failover.watches}
    assert set(failover.watches) - others == {LEASES}


def bound(what: str) -> int:
    found = re.search(rf"^\| {re.escape(what)} \|.*\| at most ([\d,]+)", PAGE, re.MULTILINE)
    assert found is not None, what
    return int(found[1].replace(",", ""))


def test_annotation_stays_below_its_bound() -> None:
    proof = Proof(
        tainted_at=NOW,
        provider_id=f"provider://{_NAME}",
        last_sign=NOW,
        power=max(Power, key=len),
        first_reading=NOW,
        last_reading=NOW,
        readings=1_000_000,
        boot_id="b" * 36,
        was_graceful=True,
        by="p" * 100,
        is_forced=True,
    )
    assert len(PROOF) + len(proof.text.encode()) <= bound("annotation `growth.dev/out-of-service` of a Node")


def test_entry_stays_below_its_bound() -> None:
    story = Timeline(_NAME, "u" * 36)
    for _ in range(100):
        story = story.with_entry(TimelineStep(NOW, f"Recovered-{_NAMESPACE}/{_NAME}", "w" * 300))
    size = len(key_of(_NAME)) + len(msgspec.json.encode(story))
    assert 0.8 * bound("a node's entry in `growth-status`") < size <= bound("a node's entry in `growth-status`")


def test_bound_of_all_entries_is_the_one_that_is_kept() -> None:
    stated = bound("all entries in `growth-status`")
    assert f"_KEPT_BYTES: Final = {stated:_}" in SOURCES
