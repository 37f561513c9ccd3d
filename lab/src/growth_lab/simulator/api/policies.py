"""Mutating admission policies: what they make of a new object.

As with rules of definitions (``cel_rules``), a general CEL would be a hundred times the code. So the expressions of the
policies that Growth ships stand here by their text, and a policy that says anything else is refused.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from growth.api.selectors import LabelSelector
from growth_lab.simulator.api.error_responses import Cause, wrong
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import NAMESPACES, POLICIES, POLICY_BINDINGS, Resource
from growth_lab.simulator.store import Store

_UNKNOWN: Final = "this virtual server knows only the expressions of the policies that Growth ships"


def _suspended(job: Json) -> Json:
    return {**job, "spec": {**part(job, "spec"), "suspend": True}}


def _gated(pod: Json) -> Json:
    meta, spec, gate = pod["metadata"], part(pod, "spec"), {"name": "kueue.x-k8s.io/admission"}
    known = parts(spec, "schedulingGates")
    gates = known if gate in known else [*known, gate]
    labels = {**part(meta, "labels"), "kueue.x-k8s.io/managed": "true"}
    return {**pod, "metadata": {**meta, "labels": labels}, "spec": {**spec, "schedulingGates": gates}}


MUTATIONS: Final[Mapping[str, Callable[[Json], Json]]] = {
    "Object{spec: Object.spec{suspend: true}}": _suspended,
    'Object{ metadata: Object.metadata{labels: {"kueue.x-k8s.io/managed": "true"}}, spec: Object.spec{schedulingGates: '
    '[Object.spec.schedulingGates{name: "kueue.x-k8s.io/admission"}]} }': _gated,
}
CONDITIONS: Final[Mapping[str, Callable[[Json], bool]]] = {
    "!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, has(o.controller) && "
    "o.controller)": lambda own: not any(one.get("controller") for one in parts(own, "metadata", "ownerReferences")),
    "!has(object.spec.nodeName) || object.spec.nodeName == ''": lambda own: not part(own, "spec").get("nodeName"),
}


def errors_of_policy(policy: Json) -> list[Cause]:
    """What is said that nobody here understands."""
    spec = part(policy, "spec")
    known = [("mutations", one, MUTATIONS) for one in _mutations(spec)]
    known += [("matchConditions", one, CONDITIONS) for one in _conditions(spec)]
    return [wrong(f"spec.{field}", text, _UNKNOWN) for field, text, texts in known if text not in texts]


def admitted(store: Store, resource: Resource, thing: Json) -> Json:
    """A new object, as the policies that are bound want it."""
    for binding in store.all(POLICY_BINDINGS):
        policy = store.get(POLICIES, binding["spec"]["policyName"])
        if policy is not None and _is_meant(store, binding, policy["spec"], resource, thing):
            for text in _mutations(policy["spec"]):
                thing = MUTATIONS[text](thing)
    return thing


def _is_meant(store: Store, binding: Json, spec: Json, resource: Resource, thing: Json) -> bool:
    constraints = part(spec, "matchConstraints")
    if not any(_names(rule, resource) for rule in parts(constraints, "resourceRules")):
        return False
    namespace = store.get(NAMESPACES, thing["metadata"].get("namespace", ""))
    place = part(namespace, "metadata", "labels") if namespace is not None else {}
    limits = (constraints, part(binding, "spec", "matchResources"))
    return (
        all(_selects(limit, "objectSelector", part(thing, "metadata", "labels")) for limit in limits)
        and all(_selects(limit, "namespaceSelector", place) for limit in limits)
        and all(CONDITIONS[text](thing) for text in _conditions(spec))
    )


def _names(rule: Json, resource: Resource) -> bool:
    return (
        resource.group in rule["apiGroups"]
        and resource.version in rule["apiVersions"]
        and resource.plural in rule["resources"]
        and "CREATE" in rule["operations"]
    )


def _selects(limit: Json, name: str, labels: Mapping[str, str]) -> bool:
    """A selector that is not there selects everything, as an empty one does."""
    return msgspec.convert(part(limit, name), LabelSelector).matches(labels)


def _mutations(spec: Json) -> list[str]:
    return _plain(part(one, "applyConfiguration") for one in parts(spec, "mutations"))


def _conditions(spec: Json) -> list[str]:
    return _plain(parts(spec, "matchConditions"))


def _plain(holders: Iterable[Mapping[str, Any]]) -> list[str]:
    """Expressions, however their lines are broken."""
    return [" ".join(one.get("expression", "").split()) for one in holders]
