"""docs/registry.md says what the code does: every state, setting, metric, field and reason is there."""

import re

import msgspec
import pytest
import yaml

from growth.api.annotations import STARTED_AT
from growth.api.duration import format_duration
from growth.api.growth_status import GROWTH_STATUS, ClusterStatus, PoolHealth, TroubledNode
from growth.api.settings.model import ProvisionSettings, RegistrySettings
from growth.decide.facts.cluster_state import MISSING, UPCOMING, ClusterHealth, NodeState, Unit
from growth.decide.pool_status.conditions import EXPANDING, HEALTHY
from growth.decide.registry.cluster_health import checked
from growth.decide.registry.metrics import METRICS
from tests.decide.registry.stage import NOW
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "registry.md").read_text(encoding="utf-8")
DECIDE = ROOT / "src" / "growth" / "decide"
# Where what follows from the registry is said as a hold or an event with a reason of its own.
SAYING = (*(DECIDE / "registry").glob("*.py"), DECIDE / "scale_down" / "decider.py")
REASON = re.compile(r'(?:reason=|_REASON: Final = )"([A-Z]\w+)"')
REASONS = sorted({reason for path in SAYING for reason in REASON.findall(path.read_text(encoding="utf-8"))})


def section(title: str) -> str:
    """What stands under a heading, up to the next one."""
    found = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert found, f"there is no section {title!r}"
    return found


def rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables in it."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


# States and use cases


def test_every_state_has_its_row_and_the_most_serious_comes_first() -> None:
    told = [row[0].strip("`") for row in rows(section("The states of one node"))[2:]]
    assert told == [state.value for state in NodeState]


def test_every_state_is_in_the_picture() -> None:
    picture = (ROOT / "docs" / "images" / "states.svg").read_text(encoding="utf-8")
    assert [state for state in NodeState if f">{state}</text>" not in picture] == []
    assert "images/states.svg" in PAGE


def test_every_use_case_has_its_row_and_its_state() -> None:
    told = {row[0]: row[1].strip("`") for row in rows(section("The use cases, as they are implemented"))[2:]}
    # The states' own docstrings say which use case each of them is.
    assert told == {
        "UC1": NodeState.REQUESTED,
        "UC2": NodeState.BOOTING,
        "UC3": NodeState.FAILED_TO_START,
        "UC4": NodeState.NEVER_CREATED,
        "UC5": NodeState.NEVER_REGISTERED,
        "UC6": NodeState.UNREADY,
        "UC7": NodeState.BEING_REMOVED,
        "UC8": "",
    }


@pytest.mark.parametrize(("word", "states"), [("Upcoming", UPCOMING), ("Missing", MISSING)])
def test_what_is_upcoming_and_what_is_missing_is_named(word: str, states: frozenset[NodeState]) -> None:
    (line,) = re.findall(
        rf"\*\*{word}\*\* is (.*?)\.", section("S3 and S4: what is coming, what is missing"), re.DOTALL
    )
    assert {*re.findall(r"`(\w+)`", line)} == {state.value for state in states}


# Numbers


def test_the_examples_of_s1_are_true() -> None:
    found = re.findall(r"\n\| (\d+) \| (\d+)[^|]*\| (yes|\*\*no)", section("S1: is the cluster healthy?"))
    assert len(found) == 4
    for total, unready, told in found:
        units = [Unit(f"a-{number}", NodeState.UNREADY, is_unjustified=True) for number in range(int(unready))]
        health = checked(ClusterHealth(), int(total) - int(unready), units, NOW, RegistrySettings())
        assert health.is_healthy == (told == "yes"), f"{unready} of {total}"


@pytest.mark.parametrize("field", msgspec.structs.fields(RegistrySettings), ids=lambda field: field.name)
def test_every_setting_has_its_row_its_default_and_its_place(field: msgspec.structs.FieldInfo) -> None:
    shown = str(field.default) if isinstance(field.default, int) else format_duration(field.default)
    assert f"\n| `registry.{field.encode_name}` | `{shown}` |" in section("Settings")
    assert PAGE.count(f"`registry.{field.encode_name}`") > 1  # and where it matters


def test_the_deadlines_are_those_of_the_settings() -> None:
    provision = ProvisionSettings()
    in_all = provision.machine_within + provision.ready_within
    minutes = {
        name: int(one.total_seconds() / 60) for name, one in (("one", provision.machine_within), ("all", in_all))
    }
    assert f"`provision.machineWithin` ({minutes['one']} min)" in PAGE
    assert f"`provision.machineWithin` + `provision.readyWithin` ({minutes['all']} min)" in PAGE


# Seen from outside


def metrics_of_registry() -> list[str]:
    """Names of what the registry measures."""
    return [metric.name for metric in METRICS]


def test_every_metric_has_its_row() -> None:
    told = [row[0].strip("`") for row in rows(section("How to see it")) if row[0].startswith("`growth_")]
    assert sorted(told) == sorted(metrics_of_registry())
    assert len(told) == 6


def test_alerts_name_only_metrics_that_there_are() -> None:
    (block,) = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "alert:" in text]
    rules = yaml.safe_load(block)["groups"][0]["rules"]
    named = {name for rule in rules for name in re.findall(r"growth_\w+", rule["expr"])}
    assert named <= {*metrics_of_registry(), "growth_leader"}
    assert len(rules) > 3


@pytest.mark.parametrize("kind", [ClusterStatus, PoolHealth, TroubledNode], ids=lambda kind: kind.__name__)
def test_every_field_of_the_config_map_is_explained(kind: type[msgspec.Struct]) -> None:
    text = section("How to see it").partition(f"**The ConfigMap `{GROWTH_STATUS}`**")[2].partition("**Metrics**")[0]
    missing = [
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if f"`{field.encode_name}`" not in text and f"`{field.encode_name}[]`" not in text
    ]
    assert missing == []


def test_reasons_are_found_in_the_code() -> None:
    assert {"ClusterUnhealthy", "ClusterHealthy"} <= {*REASONS}


@pytest.mark.parametrize("reason", [*REASONS, "OneByOne", "GivingUp", "Unreachable", "Unready"])
def test_every_reason_is_explained(reason: str) -> None:
    table = section("How to see it").partition("**Events and holds:**")[2]
    assert any(f"`{reason}`" in row[0] for row in rows(table))


@pytest.mark.parametrize("condition", [HEALTHY, EXPANDING])
def test_every_condition_of_a_pool_is_explained_with_its_reasons(condition: str) -> None:
    code = (DECIDE / "pool_status" / "conditions.py").read_text(encoding="utf-8")
    body = code.partition(f"def _{condition.lower()}(")[2].partition("\ndef ")[0]
    reasons = set(re.findall(r'"([A-Z][a-z]+(?:[A-Z][a-z]+)*)"', body)) - {"True", "False"}
    (row,) = [row for row in rows(PAGE) if row[0] == f"`{condition}`" and len(row) == 2]
    assert reasons
    assert [reason for reason in reasons if f"`{reason}`" not in row[1]] == []


@pytest.mark.parametrize("name", [STARTED_AT, GROWTH_STATUS, "images/status.svg", "scaleDown.removeUnreachable"])
def test_what_people_meet_is_named(name: str) -> None:
    assert name in PAGE


def test_files_that_it_names_are_there() -> None:
    named = re.findall(r"`((?:registry|node_requests|scale_down|scale_up)/\w+\.py)`", PAGE)
    assert len(named) > 8
    assert [name for name in named if not (DECIDE / name).exists()] == []
