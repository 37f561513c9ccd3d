"""Who may be moved, and why others stay."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.pod import Pod
from growth.decide.consolidation.pod_movability import SAFE_TO_EVICT, SAFE_VOLUMES, PodBindings
from tests.decide.consolidation.seen import DAEMON, OWNER, a_budget, a_pod, a_snapshot
from tests.decide.fit.volumes import a_claim
from tests.decide.stages import an_object
from tests.drawing import examples

CACHE: dict[str, Any] = {"name": "cache", "emptyDir": {}}
LOGS = {"name": "logs", "hostPath": {"path": "/var/log"}}
MEMORY = {"name": "shm", "emptyDir": {"medium": "Memory"}}
DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
WEB = {"matchLabels": {"app": "web"}}


def why(pod: Pod, *things: object) -> str:
    return PodBindings(a_snapshot(pod, *things)).why_stays(pod)


def a_local_volume(*terms: list[str]) -> Any:  # noqa: ANN401
    """A volume that the hosts of any of these terms reach."""
    requirements = [{"key": "kubernetes.io/hostname", "operator": "In", "values": hosts} for hosts in terms]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [one]} for one in requirements]}}
    return an_object("PersistentVolume", "pv-1", spec={"capacity": {"storage": "1Gi"}, "nodeAffinity": affinity})


MOVES = {
    "one like most": (a_pod(),),
    "a DaemonSet's goes with its node": (a_pod(owner=DAEMON, volumes=[LOGS]),),
    "a static one goes with its node": (a_pod(owner=None, annotations={"kubernetes.io/config.mirror": "x"}),),
    "one that is leaving": (a_pod(owner=None, terminating=True),),
    "one that has ended": (a_pod(owner=None, status={"phase": "Failed"}),),
    "its memory is no disk": (a_pod(volumes=[MEMORY]),),
    "its owner says that nothing is lost": (a_pod(owner=None, volumes=[CACHE], annotations={SAFE_TO_EVICT: "true"}),),
    "its owner names what may be lost": (a_pod(volumes=[CACHE, LOGS], annotations={SAFE_VOLUMES: "cache, logs"}),),
    "a claim without a volume": (a_pod(volumes=[DATA]), a_claim()),
    "a volume of two hosts": (
        a_pod(volumes=[DATA]),
        a_claim(volume="pv-1"),
        a_local_volume(["a", "b"]),
    ),
    "a volume of this host or of another": (
        a_pod(volumes=[DATA]),
        a_claim(volume="pv-1"),
        a_local_volume(["a"], ["b"]),
    ),
    "its budget allows it": (a_pod(labels={"app": "web"}), a_budget("web", WEB, allowed=1)),
    "a budget of others": (a_pod(labels={"app": "db"}), a_budget("web", WEB)),
    "a budget elsewhere": (a_pod(labels={"app": "web"}), a_budget("web", WEB, namespace="other")),
    "a budget without selector": (a_pod(labels={"app": "web"}), a_budget("web", None)),
    "budgets say nothing of who has not begun": (
        a_pod(labels={"app": "web"}, status={"phase": "Pending"}),
        a_budget("web", WEB),
        a_budget("all", {}),
    ),
}


@pytest.mark.parametrize("things", MOVES.values(), ids=MOVES.keys())
def test_may_move(things: tuple[Any, ...]) -> None:
    assert why(*things) == ""


STAYS = {
    "a wish": ((a_pod(annotations={"growth.dev/do-not-disrupt": "true"}),), "it bears growth.dev/do-not-disrupt"),
    "a wish on a daemon, which keeps its node": (
        (a_pod(owner=DAEMON, annotations={"karpenter.sh/do-not-disrupt": "true"}),),
        "it bears karpenter.sh/do-not-disrupt",
    ),
    "nobody makes it anew": ((a_pod(owner=None),), "it has no controller that would make it anew"),
    "an owner is no controller": (
        (a_pod(owner={**OWNER, "controller": False}),),
        "it has no controller that would make it anew",
    ),
    "a directory of its own": ((a_pod(volumes=[CACHE]),), "what is in its volume cache would be lost with the node"),
    "one of the host's": ((a_pod(volumes=[MEMORY, LOGS]),), "what is in its volume logs would be lost with the node"),
    "one of two may be lost": (
        (a_pod(volumes=[CACHE, LOGS], annotations={SAFE_VOLUMES: "cache"}),),
        "what is in its volume logs would be lost with the node",
    ),
    "a volume of this host, whatever its owner says": (
        (a_pod(volumes=[DATA], annotations={SAFE_TO_EVICT: "true"}), a_claim(volume="pv-1"), a_local_volume(["a"])),
        "its volume pv-1 is on this node and nowhere else",
    ),
    "its budget is used up": (
        (a_pod(labels={"app": "web"}), a_budget("web", WEB)),
        "disruption budget web allows no disruption now",
    ),
    "what its owner says is no way around budgets": (
        (a_pod(labels={"app": "web"}, annotations={SAFE_TO_EVICT: "true"}), a_budget("web", WEB)),
        "disruption budget web allows no disruption now",
    ),
    "two budgets, even if both allow it": (
        (a_pod(labels={"app": "web"}), a_budget("web", WEB, allowed=1), a_budget("all", {}, allowed=1)),
        "several disruption budgets protect it (all, web), and the API server never evicts such a pod",
    ),
}


@pytest.mark.parametrize(("things", "reason"), STAYS.values(), ids=STAYS.keys())
def test_must_stay(things: tuple[Any, ...], reason: str) -> None:
    assert why(*things) == reason


def test_what_is_known_of_one_pod_is_not_said_of_another_that_differs() -> None:
    """In whatever order: each differs from the first in one thing."""
    usual: dict[str, Any] = {"labels": {"app": "web"}}
    answers = [
        (a_pod(**usual), "disruption budget web allows no disruption now"),
        (a_pod(labels={"app": "db"}), ""),
        (a_pod(**usual, namespace="other"), ""),
        (a_pod(**usual, status={"phase": "Pending"}), ""),
        (a_pod(**usual, terminating=True), ""),
        (a_pod(**usual, owner=DAEMON), ""),
        (a_pod(**usual, volumes=[CACHE]), "what is in its volume cache would be lost with the node"),
        (a_pod(**usual, annotations={SAFE_TO_EVICT: "false"}), f"it bears {SAFE_TO_EVICT}"),
    ]
    snapshot = a_snapshot(a_budget("web", WEB), *(pod for pod, _ in answers))
    for order in (answers, answers[::-1]):
        bonds = PodBindings(snapshot)
        assert [bonds.why_stays(pod) for pod, _ in order] == [reason for _, reason in order]


LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"]))


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    return a_pod(
        labels=draw(LABELS),
        annotations=draw(st.sampled_from([{}, {SAFE_TO_EVICT: "true"}, {SAFE_TO_EVICT: "false"}])),
        volumes=draw(st.sampled_from([[], [CACHE]])),
        status={"phase": draw(st.sampled_from(["Running", "Pending"]))},
        namespace=draw(st.sampled_from(["default", "other"])),
    )


@st.composite
def selectors(draw: st.DrawFn) -> Any:  # noqa: ANN401
    unlike = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]}
    return draw(st.sampled_from([{"matchLabels": draw(LABELS)}, unlike, None]))


@settings(max_examples=examples(50))
@given(siblings=st.lists(pods(), max_size=12), budgets=st.lists(st.tuples(selectors(), st.integers(0, 1)), max_size=5))
def test_siblings_are_judged_as_if_each_were_alone(siblings: list[Pod], budgets: list[tuple[Any, int]]) -> None:
    """What is remembered of one pod is never said of another that differs; and budgets are found whatever they ask."""
    protecting = [a_budget(f"b{number}", selector, allowed=n) for number, (selector, n) in enumerate(budgets)]
    together = PodBindings(a_snapshot(*siblings, *protecting))
    for pod in siblings:
        known = together.why_stays(pod)
        assert known == why(pod, *protecting)
        meant = [one for one in protecting if one.metadata.namespace == pod.metadata.namespace]
        meant = [
            one for one in meant if one.spec.selector is not None and one.spec.selector.matches(pod.metadata.labels)
        ]
        if pod.status.phase == "Running" and (
            len(meant) > 1 or any(not one.status.disruptions_allowed for one in meant)
        ):
            assert known
        if not meant and not pod.spec.local_volumes and not pod.metadata.annotations:
            assert not known


def test_a_jobs_pod_is_not_moved_for_money_unless_its_owner_says_so() -> None:
    """What it has done so far would be done once more. Where its node must go, it goes."""
    job = {**OWNER, "apiVersion": "batch/v1", "kind": "Job"}
    pod, safe = a_pod(owner=job), a_pod(owner=job, annotations={SAFE_TO_EVICT: "true"})
    assert "ends by itself" in PodBindings(a_snapshot(pod), is_for_money=True).why_stays(pod)
    assert PodBindings(a_snapshot(safe), is_for_money=True).why_stays(safe) == ""
    assert why(pod) == ""
