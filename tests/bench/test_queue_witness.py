"""Who looks on counts right, on changes that are made up."""

from datetime import UTC, datetime
from typing import Literal

import msgspec
import pytest

from bench.queue_load import Planned, a_workload, lines_of, load_of
from bench.queue_witness import Witness
from growth.api.change import Change, ChangeType
from growth.api.queue.workload import Admission, PodSetAssignment, Workload, WorkloadStatus
from growth.api.status import StatusCondition

LINES = lines_of(1, 2)
LOAD = load_of(100, LINES)
LARGE = [one for one in LOAD if one.size.name == "large"]
SMALL = [one for one in LOAD if one.size.name == "small"]
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)


class Stage:
    """A clock that is set by hand, a witness, and workloads."""

    def __init__(self) -> None:
        self.now = 100.0
        self.witness = Witness({one.name: one for one in LOAD}, LINES, lambda: self.now)
        self._seen: dict[str, Workload] = {}

    def tell(self, planned: Planned, *said: str, cpu: str = "", preempted: bool = False) -> None:
        """A workload is as it is said from now on, and holds so much."""
        given = Admission(planned.line.name, (PodSetAssignment(resource_usage={"cpu": cpu}),)) if cpu else None
        conditions = [_said(kind, kind) for kind in said]
        if preempted:
            conditions.append(_said("Evicted", "Preempted"))
        text = msgspec.json.encode(a_workload(planned))
        bare = msgspec.json.decode(text, type=Workload)
        workload = msgspec.structs.replace(bare, status=WorkloadStatus(given, conditions=tuple(conditions)))
        before = self._seen.get(planned.name)
        happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self._seen[planned.name] = workload
        self.witness.hear([Change(happened, workload, before)])


def _said(kind: str, reason: str, status: Literal["True", "False"] = "True") -> StatusCondition:
    return StatusCondition(kind, status, reason, "", NOW)


def test_a_life_is_counted_from_its_creation_to_its_end() -> None:
    stage, one = Stage(), SMALL[0]
    stage.tell(one)
    stage.now += 2
    stage.tell(one, "QuotaReserved", "Admitted", cpu="1")
    stage.now += 0.4
    stage.tell(one, "QuotaReserved", "Admitted", "Finished", cpu="1")
    told = stage.witness.figures()
    assert (told["finished"], told["admissions"], told["preemptions"], told["exceeded"]) == (1, 1, 0, 0)
    assert told["avg_admission_s"] == {"large": 0.0, "medium": 0.0, "small": 2.0}
    assert told["wall_s"] == 2.4
    assert told["reserved_over_run"] == 2.0
    assert told["reserved_over_run_of"]["small"] == 2.0
    assert stage.witness.writes == {"admitted": 1, "finished": 1}


def test_one_that_was_sent_back_counts_until_its_last_admission_and_all_that_it_held() -> None:
    stage, one = Stage(), LARGE[0]
    stage.tell(one)
    stage.now += 1
    stage.tell(one, "Admitted", cpu="20")
    stage.now += 1
    stage.tell(one, "Admitted", cpu="20", preempted=True)
    stage.now += 1
    stage.tell(one, preempted=True)
    stage.now += 1
    stage.tell(one, "Admitted", cpu="20")
    stage.now += 1
    stage.tell(one, "Admitted", "Finished", cpu="20")
    told = stage.witness.figures()
    assert (told["admissions"], told["preemptions"]) == (2, 1)
    assert told["avg_admission_s"]["large"] == 4.0
    assert told["reserved_over_run"] == told["reserved_over_run_of"]["large"] == 3.0
    assert stage.witness.writes == {"admitted": 2, "evicted": 1, "released": 1, "finished": 1}


def test_usage_is_the_mean_over_time_until_the_last_admission() -> None:
    stage = Stage()
    stage.tell(LARGE[0])
    stage.tell(SMALL[0])
    stage.tell(LARGE[0], "Admitted", cpu="20")
    stage.now += 3
    stage.tell(LARGE[0], "Admitted", "Finished", cpu="20")
    stage.now += 1
    stage.tell(SMALL[0], "Admitted", cpu="1")
    stage.now += 100  # nobody is admitted any more, so this does not count
    stage.tell(SMALL[0], "Admitted", "Finished", cpu="1")
    assert stage.witness.figures()["usage_percent"] == pytest.approx(100 * 20 * 3 / 4 / 40)


def test_more_than_the_cohort_has_is_noticed_even_for_a_moment() -> None:
    stage = Stage()
    for one in LARGE[:2]:
        stage.tell(one, "Admitted", cpu="20")
    assert stage.witness.exceeded == 0, "two queues of 20"
    stage.tell(SMALL[0], "Admitted", cpu="1")
    stage.tell(SMALL[0], "Admitted", "Finished", cpu="1")
    assert stage.witness.exceeded == 1
    assert stage.witness.held_cpu == 40
