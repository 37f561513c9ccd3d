"""The table of ``make skew``, what is combined, and how a release is pinned; nothing here starts a control plane."""

from pathlib import Path

import pytest

from growth.decide.pipeline import CAPABILITIES
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.pinned_modules import PROGRAMS, RELEASES
from lab.tests.local_cluster.fake_go import FakeGo
from tests.skew.__main__ import all_combinations
from tests.skew.checks import CHECKS
from tests.skew.combination import CheckOutcome, Combination, CombinationOutcome, check_combination, outcome_of
from tests.skew.pin import module_text
from tests.skew.table import table_of

KUBERNETES = """module k8s.io/kubernetes

go 1.25.0

godebug default=go1.24

require (
\tgo.etcd.io/etcd/client/v3 v3.6.4
)

require (
\tgo.etcd.io/etcd/server/v3 v3.6.5 // indirect
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""


def test_every_release_is_checked_and_one_with_older_controllers() -> None:
    combinations = all_combinations()
    assert [one.kubernetes for one in combinations if not one.controllers] == [one.minor for one in RELEASES]
    assert combinations[-1] == Combination("1.36", "1.35")


def test_checks_are_named_after_capabilities() -> None:
    assert set(CHECKS) <= {one.name for one in CAPABILITIES}


def test_table_has_a_row_for_each_control_plane_and_spells_out_failures() -> None:
    outcomes = [
        CombinationOutcome(
            "1.33", "v1.33.13", 5.0, (CheckOutcome("grow", 8.2), CheckOutcome("doctor", 1.0)), ("lists",)
        ),
        CombinationOutcome("1.36", "v1.36.3", 5.0, (CheckOutcome("grow", 180.4, "failed: no pod runs"),), ()),
    ]
    assert [one.has_failed for one in outcomes] == [False, True]
    head, *rows = [line.rstrip() for line in table_of(outcomes, 120).splitlines()]
    assert head.split() == ["KUBERNETES", "grow", "doctor", "LACKS"]
    assert rows[0].split() == ["1.33", "(v1.33.13)", "ok", "8", "s", "ok", "1", "s", "lists"]
    assert rows[1].split() == ["1.36", "(v1.36.3)", "FAILED", "180", "s", "-", "nothing"]
    assert rows[-1] == "1.36: grow failed: no pod runs"


@pytest.mark.parametrize("error", [AssertionError("no pod runs"), TimeoutError("no pod runs")])
async def test_check_that_raises_has_failed_with_its_sentence(error: Exception) -> None:
    async def fails(_: LocalCluster) -> None:
        raise error

    outcome = await outcome_of("grow", fails, LocalCluster())
    assert outcome.problem == f"failed: {type(error).__name__}: no pod runs"


async def test_control_plane_that_cannot_be_built_has_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go = FakeGo(tmp_path)
    go.fail("kube-apiserver", "signal: killed")
    for name, value in go.environment().items():
        monkeypatch.setenv(name, value)
    outcome = await check_combination(Combination("1.33"), [], print)
    assert (outcome.combination, outcome.has_failed) == ("1.33", True)
    assert "the compiler ran out of memory" in outcome.checks[0].problem


def test_module_begins_with_what_kubernetes_itself_is_built_from() -> None:
    programs = [one for one in PROGRAMS if one.name != "kwok"]
    text = module_text(KUBERNETES, "1.34.10", programs)
    assert text == (
        "module growth.dev/controlplane\n\ngo 1.25.0\n\ngodebug default=go1.24\n\n"
        "require (\n\tgo.etcd.io/etcd/server/v3 v3.6.5\n\tk8s.io/kubernetes v1.34.10\n)\n\n"
        "replace (\n\tk8s.io/api => k8s.io/api v0.34.10\n\tk8s.io/client-go => k8s.io/client-go v0.34.10\n)\n"
    )


def test_module_of_the_default_release_holds_kwok_too() -> None:
    assert "\tsigs.k8s.io/kwok v" in module_text(KUBERNETES, "1.36.3", PROGRAMS)


def test_module_without_the_expected_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="has no line like"):
        module_text("module k8s.io/kubernetes\n", "1.34.10", PROGRAMS)
