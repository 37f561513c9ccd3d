"""docs/removing.md names what people meet: every setting and field, every reason that is said, every name."""

import re
from datetime import timedelta

import msgspec
import pytest

from growth.api.duration import format_duration
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_pool import Disruption, NodePoolSpec, ScaleDown
from growth.api.node_removal_request import IF_UNREADY, RETRY
from growth.api.out_of_service import SHUTDOWN
from growth.api.phases import REMOVAL_MOVES
from growth.api.pod_classification import forbids
from growth.api.settings.model import RemovalSettings
from growth.api.taints import LEAVES, SCALE_DOWN_AT
from growth.decide.scale_down.removal_requests import DELETION_FAILED, DELETION_REQUESTED
from tests.decide.stages import a_pod
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "removing.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src/growth/decide"
CODE = [
    *(PACKAGE / "scale_down").glob("*.py"),
    PACKAGE / "writes" / "pod_release.py",
    PACKAGE / "writes" / "unreachable_event.py",
]
# How a reason stands in the code: of a hold or an event.
REASON = re.compile(r'(?:reason=|tell\(node, |_REASON: Final = )"(\w+)"')
REASONS = sorted({reason for path in CODE for reason in REASON.findall(path.read_text(encoding="utf-8"))})
RETRY_FAILED = "retryFailedAfter"


def test_reasons_are_found_in_the_code() -> None:
    known = {"ScaleDownPlanned", "ScaleDownCancelled", "ScaleDown", "DoNotDisrupt", "RemovalFailed", "ProviderSilent"}
    assert {*known, "Detaching", "NotOurs", "ClusterUnhealthy", "Unready", "Unreachable", "RecentScaleUp"} == {*REASONS}


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_explained(reason: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert any(f"`{reason}`" in row.split("|")[1] for row in rows)


@pytest.mark.parametrize("field", msgspec.structs.fields(RemovalSettings), ids=lambda field: field.name)
def test_every_setting_has_its_row_and_its_default(field: msgspec.structs.FieldInfo) -> None:
    is_duration = isinstance(field.default, timedelta)
    shown = format_duration(field.default) if is_duration else str(field.default)
    assert f"\n| `removal.{field.encode_name}` | `{shown}` |" in PAGE


@pytest.mark.parametrize("field", msgspec.structs.fields(ScaleDown), ids=lambda field: field.name)
def test_every_field_of_a_pool_is_named_with_its_default(field: msgspec.structs.FieldInfo) -> None:
    name = f"scaleDown.{field.encode_name}"
    default = {True: "`true`", False: "`false`", None: "never"}.get(field.default, f"`{field.default}`")
    assert f"\n| `{name}` | {default} |" in PAGE


def test_how_a_deleted_pool_is_emptied_is_named_with_its_default() -> None:
    assert f"\n| `disruption.maxUnavailable` | `{Disruption().max_unavailable}` |" in PAGE
    assert f"\n| `deletionPolicy` | `{NodePoolSpec().deletion_policy}` |" in PAGE


@pytest.mark.parametrize("phase", REMOVAL_MOVES)
def test_every_phase_has_its_row(phase: str) -> None:
    assert f"\n| {phase} |" in PAGE


@pytest.mark.parametrize("name", [str(LEAVES), SCALE_DOWN_AT, RETRY, IF_UNREADY, str(SHUTDOWN), "growth_node_removals"])
def test_every_name_that_growth_writes_is_there(name: str) -> None:
    assert name in PAGE


@pytest.mark.parametrize("event", [DELETION_REQUESTED, DELETION_FAILED])
def test_every_event_of_a_removal_is_there(event: str) -> None:
    assert f"`{event}`" in PAGE


def test_every_annotation_that_cancels_a_mark_is_there_and_does() -> None:
    rows = re.findall(r'\n\| `([^`]+): "(true|false)"` on (the node or on a pod there|the node|a pod there) \|', PAGE)
    assert len(rows) == 4
    for name, value, where in rows:
        if "node" in where:
            assert forbids(Node(ObjectMeta(annotations={name: value}))) == name
        if "pod" in where:
            assert forbids(a_pod(annotations={name: value})) == name
