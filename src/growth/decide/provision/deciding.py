"""What does each NodeRequest need next? Docs: docs/growing.md.

    Pending ──the provider has a machine──► Provisioning ──the node is what was planned──► Ready ──after a while──► gone
       └──cannot be had──► Unmet ──► gone          └──not in time──► Deprovisioning ──► NodeRemovalRequest

It never decides what to buy, and it never deletes a machine. A provider that does not answer proves nothing: deadlines
that need its word wait for it.
"""

from datetime import datetime, timedelta
from typing import Any

from growth.api.action import Action, CreateMachine, CreateObject, DeleteObject, Hold, PatchObject
from growth.api.cloud import Cloud
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.machine import Machine, request_for
from growth.api.node import Node
from growth.api.noderequest import NodeRequest
from growth.api.outcome import Outcome, Result
from growth.api.references import reference_by_name, reference_to
from growth.api.settings import Settings
from growth.decide.ages import counts_from
from growth.decide.decider import Decision, State
from growth.decide.failures import ENDING, NEVER_READY, NO_MACHINE, NO_NODE, POOL_GONE, failure_of
from growth.decide.offerings import Shop, is_noted, offering_for, shop_of
from growth.decide.provision.arrival import Arrival, Step, arrival_of
from growth.decide.provision.leaks import adoptions
from growth.decide.provision.moves import LABELLED, PROVISIONED, REQUEST_FAILED, REQUESTED, moved
from growth.decide.provision.opening import Opening
from growth.observe.snapshot import Snapshot


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    return _Pass(snapshot, state, settings).run()


class _Pass:
    """One look at all requests."""

    def __init__(self, snapshot: Snapshot, state: State, settings: Settings) -> None:
        self._snapshot, self._state, self._settings = snapshot, state, settings
        self._now = snapshot.now
        self._pools = {pool.metadata.name: pool for pool in snapshot.table(NODE_POOLS).values()}
        self._requests = snapshot.table(NODE_REQUESTS)
        self._shop: Shop = shop_of(
            snapshot.clouds, self._pools.values(), self._requests.values(), self._now, settings.provision
        )
        self._machines = {machine.name: machine for cloud in snapshot.clouds.values() for machine in cloud.machines}
        self._said: list[Action | Hold] = []
        self._deadlines: list[datetime] = []

    def run(self) -> Decision:
        for _, request in sorted(self._requests.items()):
            if request.metadata.deletion_timestamp is not None:
                continue
            match request.status.phase:
                case "Pending":
                    self._buy(request)
                case "Provisioning":
                    self._await(request)
                case "Ready":
                    self._keep(request)
                case "Unmet":
                    self._forget(request)
                case "Deprovisioning":
                    self._hand_over_to_removal(request)
        opening = Opening(self._snapshot, self._state, self._settings, self._shop)
        opening.run()
        self._said += opening.said
        self._deadlines += opening.deadlines
        self._said += adoptions(self._snapshot, self._pools, self._shop)
        wake_at = min((when for when in self._deadlines if when > self._now), default=None)
        return Decision(tuple(self._said), wake_at)

    # Pending

    def _buy(self, request: NodeRequest) -> None:
        """Ask for the machine until there is one, or until the answer says that there will be none."""
        name, pool = request.metadata.name, self._pools.get(request.spec.pool)
        if pool is None or pool.metadata.deletion_timestamp is not None:
            self._give_up(request, POOL_GONE, f"pool {request.spec.pool} is gone or going: nothing is bought for it")
            return
        known = self._machines.get(name)
        if known is not None:
            self._accepted(request, known)
            return
        offering = offering_for(request, self._shop)
        if offering is None:
            self._wait_for_catalogue(request)
            return
        outcome = self._outcome(request)
        if outcome is not None and outcome.result is Result.DONE and outcome.machine is not None:
            self._accepted(request, outcome.machine)
        elif outcome is not None and outcome.result is Result.REFUSED and outcome.error in ENDING:
            self._give_up(request, outcome.error, outcome.message)
        elif self._is_overdue(request) and self._has_answered(offering.provider, request):
            self._give_up(request, NO_MACHINE, f"{offering.provider} had no machine of this name in time")
        else:
            self._note_trouble(request, outcome)
            self._said.append(
                CreateMachine(
                    subject=reference_to(NODE_REQUESTS, request.metadata),
                    why=f"the request is new: {offering.id} for pool {pool.metadata.name}",
                    provider=offering.provider,
                    request=request_for(name, pool, offering),
                )
            )

    def _wait_for_catalogue(self, request: NodeRequest) -> None:
        """Nobody sells what is asked for: either no provider has answered yet, or it is a name that does not exist."""
        clouds = self._snapshot.clouds
        what = request.spec.target_offering
        if clouds and all(cloud.read_at is not None for cloud in clouds.values()):
            self._give_up(request, "Invalid", f"spec.targetOffering is {what!r}, which no enabled provider sells")
            return
        subject = reference_to(NODE_REQUESTS, request.metadata)
        self._said.append(Hold(subject=subject, why="no provider has said yet what it sells", reason="ProviderSilent"))

    def _outcome(self, request: NodeRequest) -> Outcome | None:
        return self._state.outcome_of(CreateMachine, reference_to(NODE_REQUESTS, request.metadata))

    def _accepted(self, request: NodeRequest, machine: Machine) -> None:
        self._said.append(
            moved(
                request,
                "Provisioning",
                self._now,
                f"the provider has the machine {machine.id}",
                events=((REQUESTED, ""),),
                met=("True", "Accepted", f"machine {machine.id}"),
                provider_id=machine.provider_id,
            )
        )

    def _give_up(self, request: NodeRequest, reason: str, message: str) -> None:
        self._said.append(
            moved(
                request,
                "Unmet",
                self._now,
                message,
                events=((REQUEST_FAILED, f"{reason}: {message}"),),
                met=("False", reason, message),
            )
        )

    def _note_trouble(self, request: NodeRequest, outcome: Outcome | None) -> None:
        """An error that may pass is noted once, and asked about again."""
        self._deadlines.append(self._due(request))
        if outcome is None or outcome.result not in (Result.REFUSED, Result.FAILED):
            return
        words = f"{outcome.error}: {outcome.message}"
        last = request.status.events[-1] if request.status.events else None
        if last is None or last.reason != words[:1024]:
            self._said.append(moved(request, "Pending", self._now, words, events=((REQUEST_FAILED, words),)))

    # Provisioning

    def _await(self, request: NodeRequest) -> None:
        """Until the node is what was planned, or its time is over."""
        name = request.metadata.name
        node, pool = self._snapshot.nodes.get(name), self._pools.get(request.spec.pool)
        offering = offering_for(request, self._shop)
        if node is None:
            self._await_node(request)
            return
        if request.status.provider_id and node.spec.provider_id not in ("", request.status.provider_id):
            subject = reference_to(NODES, node.metadata)
            why = f"it is another machine ({node.spec.provider_id}) than its request's ({request.status.provider_id})"
            self._said.append(Hold(subject=subject, why=why, reason="AnotherMachine"))
            self._await_node(request)
            return
        if pool is None or offering is None:
            subject = reference_to(NODE_REQUESTS, request.metadata)
            why = f"pool {request.spec.pool} or offering {request.spec.target_offering} is not known now"
            self._said.append(Hold(subject=subject, why=why, reason="Unknown"))
            return
        wanted = request_for(name, pool, offering)
        arrival = arrival_of(node, wanted, pool)
        if arrival.step is Step.UNLABELLED:
            self._said.append(_labelled(node, arrival))
        is_late = self._is_overdue(request, is_registered=True)
        if arrival.step is Step.ARRIVED or (arrival.step is Step.INCOMPLETE and is_late):
            self._arrived(request, arrival)
        elif is_late:
            why = f"its node is not ready in time: {arrival.step}"
            self._give_back(request, NEVER_READY, why)
        else:
            self._deadlines.append(self._due(request, is_registered=True))

    def _arrived(self, request: NodeRequest, arrival: Arrival) -> None:
        lacks = f"without {', '.join(arrival.resources)}" if arrival.resources else ""
        events = ((PROVISIONED, ""), (LABELLED, lacks))
        self._said.append(moved(request, "Ready", self._now, "its node is what was planned", events=events))

    def _await_node(self, request: NodeRequest) -> None:
        if not self._is_overdue(request):
            self._deadlines.append(self._due(request))
            return
        offering = offering_for(request, self._shop)
        provider = offering.provider if offering is not None else ""
        if not self._has_answered(provider, request):
            subject = reference_to(NODE_REQUESTS, request.metadata)
            why = "its time is over, but its provider does not say whether there is a machine"
            self._said.append(Hold(subject=subject, why=why, reason="ProviderSilent"))
        elif request.metadata.name in self._machines:
            self._give_back(request, NO_NODE, "its machine runs, but no node registered in time")
        else:
            self._give_up(request, NO_MACHINE, "its provider has no machine of this name, and no node registered")

    def _give_back(self, request: NodeRequest, reason: str, why: str) -> None:
        events = ((REQUEST_FAILED, f"{reason}: {why}"),)
        met = ("False", reason, why)
        self._said.append(moved(request, "Deprovisioning", self._now, why, events=events, met=met))

    # The ends

    def _keep(self, request: NodeRequest) -> None:
        """A node that works speaks for itself; its request is kept for a while, for people to look at."""
        ends_at = self._since(request) + self._settings.provision.keep_ready
        if self._now >= ends_at and request.metadata.name not in self._snapshot.closed:
            self._delete(request, "its node has been ready for a while")
        else:
            self._deadlines.append(ends_at)

    def _forget(self, request: NodeRequest) -> None:
        """What it taught is noted in its pool; then it goes, when its offering may be tried again."""
        pool = self._pools.get(request.spec.pool)
        failure = failure_of(request, self._snapshot.clouds)
        ends_at = self._since(request)
        if pool is not None and failure is not None:
            if not is_noted(failure, pool):
                return
            until = [one.until for one in pool.status.offerings if one.offering == failure.scope and one.until]
            longest = ends_at + self._settings.provision.unmet_at_most
            ends_at = min(max([ends_at, *until]), longest)
        if self._now >= ends_at:
            self._delete(request, "its offering may be tried again")
        else:
            self._deadlines.append(ends_at)

    def _hand_over_to_removal(self, request: NodeRequest) -> None:
        """The machine must go, which is another request's business; this one goes when that one is seen."""
        meta, spec = request.metadata, request.spec
        if ("", meta.name) in self._snapshot.table(NODE_REMOVAL_REQUESTS):
            pool, failure = self._pools.get(spec.pool), failure_of(request, self._snapshot.clouds)
            if pool is None or failure is None or is_noted(failure, pool):
                self._delete(request, "its machine is being removed")
            return
        reason = next((one.message for one in request.status.conditions if one.status == "False"), "given up")
        body: dict[str, Any] = {
            "spec": {
                "pool": spec.pool,
                "nodeName": meta.name,
                "providerID": request.status.provider_id,
                "reason": reason,
            }
        }
        removal = reference_by_name(NODE_REMOVAL_REQUESTS, meta.name)
        self._said.append(CreateObject(subject=removal, why=reason, body=body))

    def _delete(self, request: NodeRequest, why: str) -> None:
        self._said.append(DeleteObject(subject=reference_to(NODE_REQUESTS, request.metadata), why=why))

    # Time

    def _since(self, request: NodeRequest) -> datetime:
        return counts_from(request.status.phase_since, self._now, self._state.steady_since)

    def _due(self, request: NodeRequest, *, is_registered: bool = False) -> datetime:
        settings = self._settings.provision
        begun = counts_from(request.metadata.creation_timestamp, self._now, self._state.steady_since)
        return begun + settings.machine_within + (settings.ready_within if is_registered else timedelta(0))

    def _is_overdue(self, request: NodeRequest, *, is_registered: bool = False) -> bool:
        return self._now >= self._due(request, is_registered=is_registered)

    def _has_answered(self, provider: str, request: NodeRequest) -> bool:
        """Whether the provider said what it has after the time was over, so that its word holds."""
        cloud: Cloud | None = self._snapshot.clouds.get(provider)
        if cloud is None or cloud.read_at is None or cloud.problem:
            return False
        return cloud.read_at >= self._due(request)


def _labelled(node: Node, arrival: Arrival) -> PatchObject:
    names = ", ".join(sorted(arrival.labels))
    return PatchObject(
        subject=reference_to(NODES, node.metadata),
        why=f"it lacks labels that the plan counts on: {names}",
        body={"metadata": {"labels": arrival.labels}},
    )
