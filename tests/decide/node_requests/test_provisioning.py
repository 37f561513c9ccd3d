"""The seed's "For each NodeRequest in state Provisioning": the node that was planned, in time, or not."""

from datetime import datetime

import pytest

from growth.api.actions import PatchObject, Result
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.offering import OFFERING, ZONE
from growth.api.provider_state import ProviderState
from growth.api.tolerations import NO_EXECUTE, Taint
from tests.decide.node_requests.stage import (
    GPU,
    LARGE,
    MINUTE,
    NAME,
    NO_SCHEDULE_BY_NETWORK,
    NOW,
    PROVISION,
    a_cloud,
    a_machine,
    a_node,
    a_pool,
    a_request,
    an_event,
    an_outcome,
    decided,
    status_written,
    told,
)

COMING = a_request("Provisioning", events=[an_event("nodeRequested")])
BOOTING = a_request("Provisioning")
"""One whose machine was listed and whose node was seen with its labels."""
HAS_IT = a_cloud(a_machine())
REGISTERS_BY = NOW - PROVISION.machine_within
READY_BY = REGISTERS_BY - PROVISION.ready_within
STAMP = "2026-03-01T09:00:00Z"


def test_step_2_1_a_node_that_becomes_ready_makes_its_request_ready() -> None:
    assert status_written(a_pool(), COMING, HAS_IT, a_node()) == {
        "phase": "Ready",
        "phaseSince": STAMP,
        "providerID": f"shop://{NAME}",
        "conditions": [],
        "events": [
            {"at": "2026-03-01T08:59:00Z", "name": "nodeRequested"},
            {"at": STAMP, "name": "nodeProvisioned"},
            {"at": STAMP, "name": "nodeLabelled"},
        ],
    }


def test_step_2_2_a_node_that_is_not_ready_after_the_wait_is_deprovisioned() -> None:
    late = a_request("Provisioning", since=READY_BY, events=())
    why = "its node is not ready in time: not ready"
    assert status_written(a_pool(), late, HAS_IT, a_node(ready=False)) == {
        "phase": "Deprovisioning",
        "phaseSince": STAMP,
        "providerID": f"shop://{NAME}",
        "conditions": [
            {"type": "Met", "status": "False", "reason": "NeverReady", "message": why, "lastTransitionTime": STAMP}
        ],
        "events": [{"at": STAMP, "name": "nodeRequestFailed", "reason": f"NeverReady: {why}"}],
    }


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((HAS_IT,), [], id="no node yet: it is waited for"),
        pytest.param((a_cloud(),), [], id="no machine in the list yet: that too"),
        pytest.param((HAS_IT, a_node(ready=False)), [], id="a node that is not ready is waited for"),
        pytest.param((HAS_IT, a_node()), [f"{NAME} -> Ready", f"open {NAME}"], id="one that is ready is as planned"),
        pytest.param((HAS_IT, a_node(is_closed=False)), [f"{NAME} -> Ready"],
                     id="so is one that registered without the start-up taint"),
        pytest.param((HAS_IT, a_node(lacks=[ZONE])), [f"label {NAME}: {ZONE}"],
                     id="missing labels are set, and nothing else is done before they are seen"),
        pytest.param((HAS_IT, a_node(ready=False, labels={ZONE: "elsewhere"})), [f"label {NAME}: {ZONE}"],
                     id="wrong labels are set right, even before it is ready"),
        pytest.param((HAS_IT, a_node(provider_id="")), [f"{NAME} -> Ready", f"open {NAME}"],
                     id="a node that does not know its machine's id is taken by its name"),
        pytest.param((HAS_IT, a_node(provider_id="shop://stranger")), [f"hold {NAME}: AnotherMachine"],
                     id="another machine under its name is not its own, and is not opened"),
        pytest.param((a_cloud(read_at=None, offerings=(), problem="not yet"), a_node()), [f"hold {NAME}: Unknown"],
                     id="before anybody said what the offering is, nothing is concluded"),
        pytest.param((a_cloud(a_machine(), offerings=[LARGE]), a_node()), [f"{NAME} -> Ready", f"open {NAME}"],
                     id="a node of an offering that is not sold any more is taken as it is"),
        pytest.param((a_cloud(a_machine(), offerings=[LARGE]), a_node(ready=False)), [],
                     id="once it is ready"),
    ],
)  # fmt: skip
def test_what_is_done_about_a_request_that_is_provisioning(things: tuple[object, ...], expected: list[str]) -> None:
    assert told(decided(a_pool(), BOOTING, *things).said) == expected


def test_labels_are_set_as_the_plan_counts_on_them() -> None:
    (patch,) = decided(a_pool(labels={"team": "shop"}), BOOTING, HAS_IT, a_node(lacks=[OFFERING])).said
    assert isinstance(patch, PatchObject)
    assert patch.body == {"metadata": {"labels": {OFFERING: "shop-small-fsn1", "team": "shop"}}}
    assert patch.subject.uid == f"node-{NAME}"


@pytest.mark.parametrize(
    ("cloud", "expected"),
    [
        pytest.param(HAS_IT, [f"{NAME} -> Deprovisioning"], id="a machine without a node is given back (UC5)"),
        pytest.param(a_cloud(), [f"{NAME} -> Unmet"], id="without a machine there is nothing to give back"),
        pytest.param(a_cloud(a_machine(pool="relabelled")), [f"{NAME} -> Deprovisioning"],
                     id="it is known by its id, whatever somebody wrote on it"),
        pytest.param(a_cloud(a_machine(), problem="silent"), [f"hold {NAME}: ProviderSilent"],
                     id="a provider that is silent proves nothing"),
        pytest.param(a_cloud(a_machine(), read_at=NOW - MINUTE), [f"hold {NAME}: ProviderSilent"],
                     id="nor does an answer from before the deadline"),
        pytest.param(a_cloud(a_machine(), read_at=NOW + MINUTE), [f"hold {NAME}: ProviderSilent"],
                     id="nor one from a clock that was set back"),
        pytest.param(a_cloud(read_at=None, offerings=()), [f"hold {NAME}: ProviderSilent"],
                     id="nor does one that was never asked"),
        pytest.param(a_cloud(a_machine(), offerings=[LARGE]), [f"{NAME} -> Deprovisioning"],
                     id="what is not sold any more can be given back all the same"),
    ],
)  # fmt: skip
def test_no_node_in_time(cloud: object, expected: list[str]) -> None:
    late = a_request("Provisioning", since=REGISTERS_BY)
    assert told(decided(a_pool(), late, cloud).said) == expected


@pytest.mark.parametrize(
    ("result", "error", "cloud", "expected"),
    [
        pytest.param(Result.REFUSED, "OutOfStock", a_cloud(), "OutOfStock", id="for the reason that was told"),
        pytest.param(Result.FAILED, "Unavailable", a_cloud(), "NoMachine", id="also for one that may pass"),
        pytest.param(Result.REFUSED, "OutOfStock", HAS_IT, "", id="not while the machine is there"),
        pytest.param(Result.REFUSED, "OutOfStock", a_cloud(read_at=NOW - MINUTE), "",
                     id="not before the provider was asked again"),
        pytest.param(Result.DONE, "", a_cloud(), "", id="not if it went well: it is merely late"),
    ],
)  # fmt: skip
def test_a_purchase_that_fails_after_its_machine_was_seen_is_given_up(
    result: Result, error: str, cloud: ProviderState, expected: str
) -> None:
    outcome = an_outcome(a_request(), result, error=error, message="no host")
    said = decided(a_pool(), BOOTING, cloud, outcome=outcome).said
    assert told(said) == ([f"{NAME} -> Unmet"] if expected else [])
    if expected:
        (met,) = status_written(a_pool(), BOOTING, cloud, outcome=outcome)["conditions"]
        assert (met["status"], met["reason"], met["message"]) == ("False", expected, "no host")


def test_a_failure_from_before_the_machine_was_seen_says_nothing_about_it() -> None:
    late = a_request("Provisioning", since=NOW + MINUTE)
    outcome = an_outcome(a_request(), Result.FAILED, error="Unavailable")
    assert told(decided(a_pool(), late, a_cloud(), outcome=outcome).said) == []


@pytest.mark.parametrize(
    ("since", "steady_since"),
    [
        pytest.param(REGISTERS_BY, NOW - MINUTE, id="the clock jumped a minute ago"),
        pytest.param(REGISTERS_BY - 60 * MINUTE, NOW, id="the clock jumped just now, by an hour"),
        pytest.param(NOW + 60 * MINUTE, NOW, id="the clock was set back by an hour"),
        pytest.param(REGISTERS_BY + MINUTE, None, id="there is a minute left"),
    ],
)
def test_a_machine_is_not_given_up_when(since: datetime, steady_since: datetime | None) -> None:
    request = a_request("Provisioning", since=since)
    decision = decided(a_pool(), request, HAS_IT, steady_since=steady_since)
    assert decision.said == ()
    assert decision.requeue_at is not None
    assert decision.requeue_at <= NOW + PROVISION.machine_within


def test_another_machine_under_its_name_does_not_stop_the_clock() -> None:
    late = a_request("Provisioning", since=REGISTERS_BY)
    said = decided(a_pool(), late, HAS_IT, a_node(provider_id="shop://stranger")).said
    assert told(said) == [f"hold {NAME}: AnotherMachine", f"{NAME} -> Deprovisioning"]


@pytest.mark.parametrize(
    ("since", "node", "expected"),
    [
        pytest.param(READY_BY, a_node(), [f"{NAME} -> Ready"], id="a node that works is used when its time is over"),
        pytest.param(READY_BY, a_node(ready=False), [f"hold {NAME}: Unknown"], id="one that does not proves nothing"),
        pytest.param(REGISTERS_BY, a_node(), [f"hold {NAME}: Unknown"], id="until then the provider may still answer"),
    ],
)
def test_growth_was_started_anew_while_the_provider_is_silent(since: datetime, node: Node, expected: list[str]) -> None:
    silent = a_cloud(read_at=None, offerings=(), problem="silent")
    assert told(decided(a_pool(), a_request("Provisioning", since=since), silent, node).said) == expected


WITHOUT_GPU = a_node(offering=GPU, allocatable={"nvidia.com/gpu": "0"})
NOT_READY_TAINT = Taint("node.kubernetes.io/not-ready", "", NO_EXECUTE)


@pytest.mark.parametrize(
    ("node", "at_first", "at_last"),
    [
        pytest.param(WITHOUT_GPU, [], [f"{NAME} -> Ready"],
                     id="planned devices are awaited; without them it is still a node"),
        pytest.param(a_node(offering=GPU), [f"{NAME} -> Ready", f"open {NAME}"],
                     [f"{NAME} -> Ready", f"open {NAME}"], id="devices that came are no reason to wait"),
        pytest.param(a_node(offering=GPU, taints=[NO_SCHEDULE_BY_NETWORK]), [], [f"{NAME} -> Deprovisioning"],
                     id="start-up taints of the pool are awaited, and those who should remove them may fail"),
        pytest.param(a_node(offering=GPU, taints=[NOT_READY_TAINT]), [], [f"{NAME} -> Deprovisioning"],
                     id="so are those of the control plane"),
        pytest.param(a_node(offering=GPU, taints=[Taint("team", "shop", NO_EXECUTE)]),
                     [f"{NAME} -> Ready", f"open {NAME}"], [f"{NAME} -> Ready", f"open {NAME}"],
                     id="other taints are none of our business"),
        pytest.param(a_node(offering=GPU, ready=False), [], [f"{NAME} -> Deprovisioning"], id="Ready is awaited"),
        pytest.param(a_node(offering=GPU, lacks=[ZONE]), [f"label {NAME}: {ZONE}"],
                     [f"label {NAME}: {ZONE}", f"{NAME} -> Deprovisioning"],
                     id="labels that never stay are no node that was planned"),
    ],
)  # fmt: skip
def test_a_node_that_registered_has_time_to_become_what_was_planned(
    node: Node, at_first: list[str], at_last: list[str]
) -> None:
    pool, cloud = a_pool(startup_taints=[NO_SCHEDULE_BY_NETWORK]), a_cloud(a_machine(offering=GPU.id))
    early = a_request("Provisioning", since=REGISTERS_BY, offering=GPU.id)
    late = a_request("Provisioning", since=READY_BY, offering=GPU.id)
    assert told(decided(pool, early, cloud, node).said) == at_first
    assert told(decided(pool, late, cloud, node).said) == at_last


def test_a_node_without_its_devices_says_so_in_its_history() -> None:
    late = a_request("Provisioning", since=READY_BY, offering=GPU.id)
    status = status_written(a_pool(), late, a_cloud(a_machine(offering=GPU.id)), WITHOUT_GPU)
    assert status["events"][-1] == {"at": STAMP, "name": "nodeLabelled", "reason": "without nvidia.com/gpu"}


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((), NOW - MINUTE + PROVISION.machine_within, id="when its node must have registered"),
        pytest.param((a_node(ready=False),), NOW - MINUTE + PROVISION.machine_within + PROVISION.ready_within,
                     id="when its node must be ready"),
    ],
)  # fmt: skip
def test_it_wakes(things: tuple[object, ...], expected: datetime) -> None:
    assert decided(a_pool(), COMING, HAS_IT, *things).requeue_at == expected


# What is seen on the way


def events_written(*things: object) -> list[str]:
    return [event["name"] for event in status_written(a_pool(), COMING, *things)["events"]][1:]


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((HAS_IT,), ["nodeProvisioned"], id="the provider lists the machine"),
        pytest.param((a_cloud(), a_node(ready=False)), ["nodeProvisioned", "nodeLabelled"], id="its node is there"),
    ],
)
def test_what_happens_on_the_way_is_recorded_when_it_is_seen(things: tuple[object, ...], expected: list[str]) -> None:
    assert events_written(*things) == expected


def test_labels_are_recorded_at_another_instant_than_the_machine() -> None:
    listed = a_request("Provisioning", events=[an_event("nodeProvisioned")])
    events = status_written(a_pool(), listed, HAS_IT, a_node(ready=False))["events"]
    assert events == [
        {"at": "2026-03-01T08:59:00Z", "name": "nodeProvisioned"},
        {"at": STAMP, "name": "nodeLabelled"},
    ]


@pytest.mark.parametrize(
    ("request_", "second", "expected"),
    [
        pytest.param(BOOTING, a_cloud(read_at=NOW), [], id="one list without it may be late"),
        pytest.param(BOOTING, a_cloud(read_at=NOW + MINUTE), ["Unmet"], id="two lists without it"),
        pytest.param(BOOTING, a_cloud(read_at=NOW + MINUTE, problem="silent"), [], id="silence is no list"),
        pytest.param(BOOTING, a_cloud(a_machine(), read_at=NOW + MINUTE), [], id="it is there again"),
        pytest.param(a_request("Provisioning", events=()), a_cloud(read_at=NOW + MINUTE), [], id="it was never listed"),
    ],
)
def test_a_machine_that_vanishes_while_it_boots_is_given_up(
    request_: NodeRequest, second: ProviderState, expected: list[str]
) -> None:
    first = decided(a_pool(), request_, a_cloud(read_at=NOW))
    later = decided(a_pool(), request_, second, now=NOW + MINUTE, memory=first.carry)
    bodies = [one.body["status"] for one in later.said if isinstance(one, PatchObject)]
    assert [body["phase"] for body in bodies] == expected
    assert [body["conditions"][0]["reason"] for body in bodies] == ["MachineGone"] * len(expected)
