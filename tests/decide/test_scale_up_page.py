"""docs/growing.md names what people meet: every setting, every reason that is said, every name that is written."""

import re

import msgspec
import pytest

from growth.api.annotations import BACK_OFF, STARTED_AT
from growth.api.node_request import HANDS_KEYS, PLANNED_FOR, WAKES
from growth.api.offering import CAPACITY_TYPE, OFFERING, POOL
from growth.api.phases import REQUEST_MOVES
from growth.api.settings.model import GrowSettings, ProvisionSettings
from growth.api.taints import STARTING
from growth.decide.capacity.pool_validation import FINALIZER
from growth.decide.writes.pod_wakeup import NUDGE
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "growing.md").read_text(encoding="utf-8")
DECIDERS = [
    path
    for room in ("scale_up", "node_requests", "capacity", "pool_status", "writes")
    for path in (ROOT / "src/growth/decide" / room).glob("*.py")
]
# How a reason stands in the code: of a hold or an event, of a problem of a pool, of a pod that no pool serves, of a
# pass that decides nothing.
SAID = r"reason=|Problem\(\s*|hold\(\w+, |_said\(pod, |_hold_all\(context, "
REASON = re.compile(rf'(?:{SAID}|NO_\w*POOL: Final = |UNUSABLE: Final = )"(\w+)"')
REASONS = sorted({reason for path in DECIDERS for reason in REASON.findall(path.read_text(encoding="utf-8"))})
SETTINGS = [
    f"{section}.{field.encode_name}"
    for section, kind in (("grow", GrowSettings), ("provision", ProvisionSettings))
    for field in msgspec.structs.fields(kind)
]


def test_reasons_are_found_in_the_code() -> None:
    assert {"NoPlacement", "NoSuchPool", "PoolUnusable", "ProviderSilent", "NotOurs", "AnotherMachine"} <= {*REASONS}
    assert {"ClusterUnhealthy", "GivingUp", "OneByOne"} <= {*REASONS}


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_explained(reason: str) -> None:
    assert f"`{reason}`" in PAGE


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_of_growing_is_named_where_it_matters(setting: str) -> None:
    assert f"`{setting}`" in PAGE


@pytest.mark.parametrize("phase", REQUEST_MOVES)
def test_every_phase_has_its_row(phase: str) -> None:
    assert f"\n| {phase} |" in PAGE


@pytest.mark.parametrize(
    "name",
    [POOL, OFFERING, CAPACITY_TYPE, STARTING, STARTED_AT, NUDGE, BACK_OFF, PLANNED_FOR, HANDS_KEYS, WAKES, FINALIZER],
)
def test_every_name_that_growth_writes_has_its_row(name: str) -> None:
    assert f"\n| `{name}` |" in PAGE
