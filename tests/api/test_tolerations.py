"""Which taint keeps a pod off a node: the scheduler's answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.tolerations import Taint, Toleration, tolerates, untolerated
from tests import strategies

TAINT = Taint("gpu", "a100", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "answer"),
    [
        (Toleration("gpu", "Equal", "a100", "NoSchedule"), True),
        (Toleration("gpu", "", "a100", "NoSchedule"), True),
        (Toleration("gpu", "Equal", "a100", ""), True),
        (Toleration("gpu", "Equal", "h100", "NoSchedule"), False),
        (Toleration("gpu", "Equal", "a100", "NoExecute"), False),
        (Toleration("cpu", "Equal", "a100", "NoSchedule"), False),
        (Toleration("gpu", "Exists"), True),
        (Toleration("gpu", "Exists", "h100"), True),
        (Toleration("", "Exists"), True),
        (Toleration("", "Equal", "a100"), True),
        (Toleration("gpu", "Gt", "1"), False),
        (Toleration("gpu", "Lt", "1"), False),
        (Toleration("gpu", "Near", "a100"), False),
    ],
    ids=str,
)
def test_a_toleration_covers_what_the_scheduler_says_it_covers(toleration: Toleration, *, answer: bool) -> None:
    assert tolerates(toleration, TAINT) is answer


def test_only_taints_that_block_can_keep_a_pod_away() -> None:
    assert untolerated([Taint("old", "", "PreferNoSchedule")], []) is None
    assert untolerated([Taint("old", "", "NoExecute")], []) == Taint("old", "", "NoExecute")


def test_a_taint_reads_as_kubectl_writes_it() -> None:
    assert str(TAINT) == "gpu=a100:NoSchedule"
    assert str(Taint("growth.dev/starting", effect="NoSchedule")) == "growth.dev/starting:NoSchedule"


@given(st.lists(strategies.taints))
def test_whoever_tolerates_everything_may_come(taints: list[Taint]) -> None:
    assert untolerated(taints, [Toleration(operator="Exists")]) is None


@given(strategies.tolerations, strategies.taints)
def test_a_toleration_without_an_effect_covers_all_that_it_covers_with_one(
    toleration: Toleration, taint: Taint
) -> None:
    wider = Toleration(toleration.key, toleration.operator, toleration.value)
    assert tolerates(wider, taint) or not tolerates(toleration, taint)


@given(st.lists(strategies.taints), st.lists(strategies.tolerations), strategies.tolerations)
def test_one_more_toleration_never_shuts_a_pod_out(
    taints: list[Taint], tolerations: list[Toleration], more: Toleration
) -> None:
    assert untolerated(taints, tolerations) is not None or untolerated(taints, [*tolerations, more]) is None


@given(st.lists(strategies.taints), st.lists(strategies.tolerations))
def test_a_taint_that_keeps_a_pod_away_is_one_of_the_nodes_and_tolerated_by_nothing(
    taints: list[Taint], tolerations: list[Toleration]
) -> None:
    blocking = untolerated(taints, tolerations)
    assert blocking is None or (blocking in taints and not any(tolerates(t, blocking) for t in tolerations))
