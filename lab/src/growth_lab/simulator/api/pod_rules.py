"""What a pod may say when it is made, and what may be changed in it later."""

from typing import Final, cast

from growth.api.quantity import QuantityError, parse
from growth_lab.simulator.api.error_responses import Cause, bad_request, not_allowed, required, wrong
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json

_CHANGEABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
# What may change, each within limits of its own; everything else must stay.
_FREE: Final = ("containers", "initContainers", "activeDeadlineSeconds", "tolerations", "schedulingGates")
_FREE_WHILE_GATED: Final = ("nodeSelector", "affinity")


def errors_of_new(pod: Json) -> list[Cause]:
    """Everything that a new pod is refused for."""
    spec = pod["spec"]
    found: list[Cause] = []
    if not spec.get("containers"):
        found.append(required("spec.containers"))
    for name in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(name) or ()):
            found += _errors_of_resources(part(container, "resources"), f"spec.{name}[{index}].resources")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        found.append(not_allowed("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        own = part(constraint, "labelSelector", "matchLabels")
        keys = cast("list[str]", constraint.get("matchLabelKeys") or [])
        found += [
            wrong(
                f"spec.topologySpreadConstraints[{index}][{number}]",
                key,
                "exists in both matchLabelKeys and labelSelector",
            )
            for number, key in enumerate(keys)
            if key in own
        ]
    return found


def _errors_of_resources(resources: Json, field: str) -> list[Cause]:
    try:
        limits = {name: parse(str(amount)) for name, amount in part(resources, "limits").items()}
        requests = {name: parse(str(amount)) for name, amount in part(resources, "requests").items()}
    except QuantityError as error:
        raise bad_request(
            'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
            f"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$', unlike {error.text!r}"
        ) from None
    return [
        wrong(f"{field}.requests", str(amount), f"must be less than or equal to {name} limit of {limits[name]}")
        for name, amount in requests.items()
        if name in limits and amount > limits[name]
    ]


def errors_of_change(before: Json, after: Json) -> list[Cause]:
    """Everything that a change of a pod is refused for."""
    old, new = before["spec"], after["spec"]
    if old == new:
        return []
    found = _errors_of_tolerations(old, new) + _errors_of_gates(old, new)
    free = (*_FREE, *(_FREE_WHILE_GATED if old.get("schedulingGates") else ()))
    kept = {name: value for name, value in new.items() if name not in free}
    has_changed = kept != {name: value for name, value in old.items() if name not in free}
    if has_changed or any(_bare(old, name) != _bare(new, name) for name in ("containers", "initContainers")):
        found.append(not_allowed("spec", _CHANGEABLE))
    return found


def _bare(spec: Json, name: str) -> list[Json]:
    """Containers without what may change in them."""
    return [{**container, "image": ""} for container in spec.get(name) or ()]


def _errors_of_tolerations(old: Json, new: Json) -> list[Cause]:
    now = parts(new, "tolerations")
    if all(toleration in now for toleration in old.get("tolerations") or ()):
        return []
    return [not_allowed("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _errors_of_gates(old: Json, new: Json) -> list[Cause]:
    known = [gate["name"] for gate in old.get("schedulingGates") or ()]
    return [
        not_allowed(f"spec.schedulingGates[{index}].name", "only deletion is allowed, but found new scheduling gate")
        for index, gate in enumerate(new.get("schedulingGates") or ())
        if gate["name"] not in known
    ]


def errors_of_status(before: Json, after: Json) -> list[Cause]:
    """Everything that a change of a pod's status is refused for."""
    nominated = after.get("status", {}).get("nominatedNodeName", "")
    if nominated and before["spec"].get("nodeName") and nominated != before["status"].get("nominatedNodeName", ""):
        return [not_allowed("status.nominatedNodeName", "may not be set on pods with spec.nodeName set")]
    return []
