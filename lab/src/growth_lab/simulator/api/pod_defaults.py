"""What a pod says that its author did not: defaults, and what admission adds to every new pod (Kubernetes 1.36)."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from growth.api.quantity import QuantityError, parse
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_deletion import DEFAULT_GRACE_SECONDS
from growth_lab.simulator.served_kinds import LIMIT_RANGES, PODS, PRIORITY_CLASSES, RUNTIME_CLASSES
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings

_SPEC: Final[Json] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": DEFAULT_GRACE_SECONDS,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_ACCOUNT: Final[Json] = {"serviceAccountName": "default", "serviceAccount": "default", "enableServiceLinks": True}
_CONTAINER: Final[Json] = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_GATED: Final[Json] = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
# Pods of one template come with the very same spec object, and then share what becomes of it.
_REMEMBERED_SPECS: Final = 1_024


class PodDefaults:
    """Fills in new pods, whoever creates them. Filling in twice changes nothing."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store = clock, store
        self._tolerations: tuple[Json, ...] = tuple(
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": timings.default_toleration}
            for key in _TOLERATED
        )
        self._specs: dict[int, tuple[Json, Json, str]] = {}
        store.listen(PRIORITY_CLASSES, lambda _: self._specs.clear())
        store.defaulting[PODS] = self

    def __call__(self, pod: Json) -> Json:
        """The whole pod."""
        spec, quality = self._spec(pod.get("spec") or {}, pod["metadata"].get("labels") or {})
        if requests := self._missing_requests(pod["metadata"].get("namespace", "")):
            spec = {**spec, **_with_requests(spec, requests)}
            quality = _quality([*spec.get("initContainers", ()), *spec.get("containers", ())])
        if name := spec.get("runtimeClassName"):
            made = self._store.get(RUNTIME_CLASSES, name) or {}
            spec = {**spec, **({"overhead": made["overhead"]["podFixed"]} if made.get("overhead") else {})}
        status: Json = {"phase": "Pending", "qosClass": quality}
        if spec.get("schedulingGates"):
            status["conditions"] = [{**_GATED, "lastProbeTime": None, "lastTransitionTime": self._clock.stamp()}]
        return {**pod, "spec": spec, "status": {**status, **(pod.get("status") or {})}}

    def _spec(self, spec: Json, labels: Json) -> tuple[Json, str]:
        known = self._specs.get(id(spec))
        if known is not None:
            return known[1], known[2]
        full = {**_ACCOUNT, **template_spec(spec)}
        full["tolerations"] = [*spec.get("tolerations", ()), *self._missing_tolerations(spec.get("tolerations", ()))]
        self._add_priority(full)
        quality = _quality([*full.get("initContainers", ()), *full.get("containers", ())])
        if not _add_label_keys(full, labels):
            if len(self._specs) >= _REMEMBERED_SPECS:
                self._specs.clear()
            self._specs[id(spec)] = (spec, full, quality)  # with the spec itself, so that its id stays its own
        return full, quality

    def _missing_requests(self, namespace: str) -> Json:
        """What containers of a namespace ask for that do not say it (LimitRanger). Default limits are left out: here
        nobody is stopped by one."""
        found: Json = {}
        for one in self._store.all(LIMIT_RANGES):
            for item in one["spec"]["limits"] if one["metadata"]["namespace"] == namespace else ():
                if item.get("type") == "Container":
                    words = ("min", "max", "default", "defaultRequest")
                    found = {**{key: value for word in words for key, value in part(item, word).items()}, **found}
        return found

    def _missing_tolerations(self, own: Sequence[Json]) -> list[Json]:
        return [
            wanted
            for wanted in self._tolerations
            if not any(
                one.get("key", "") in ("", wanted["key"]) and one.get("effect", "") in ("", "NoExecute") for one in own
            )
        ]

    def _add_priority(self, spec: Json) -> None:
        found = self.priority_class(spec)
        spec.setdefault("priority", found["value"] if found else 0)
        spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy", "PreemptLowerPriority"))
        if found and not spec.get("priorityClassName"):
            spec["priorityClassName"] = found["metadata"]["name"]

    def priority_class(self, spec: Json) -> Json | None:
        """The class that the pod names, or the one for all who name none."""
        if name := spec.get("priorityClassName"):
            return self._store.get(PRIORITY_CLASSES, name)
        return next((found for found in self._store.all(PRIORITY_CLASSES) if found.get("globalDefault")), None)


def template_spec(spec: Json) -> Json:
    """A pod's spec as it is filled in already where it is only a template."""
    full = {**_SPEC, **spec}
    for name in ("initContainers", "containers"):
        if containers := spec.get(name):
            full[name] = [_container(container, bool(spec.get("hostNetwork"))) for container in containers]
    return full


def _container(container: Json, on_host_network: bool) -> Json:  # noqa: FBT001 - passed once, above
    full = {**_CONTAINER, **container}
    image = container.get("image", "")
    tag = image.rpartition("/")[2].partition(":")[2]
    full.setdefault("imagePullPolicy", "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent")
    resources = part(container, "resources")
    if limits := part(resources, "limits"):
        full["resources"] = {**resources, "requests": {**limits, **part(resources, "requests")}}
    if ports := container.get("ports"):
        full["ports"] = [
            {"protocol": "TCP", **({"hostPort": port["containerPort"]} if on_host_network else {}), **port}
            for port in ports
        ]
    return full


def _with_requests(spec: Json, requests: Json) -> Json:
    return {
        name: [
            {**one, "resources": {**one["resources"], "requests": {**requests, **part(one["resources"], "requests")}}}
            for one in spec[name]
        ]
        for name in ("initContainers", "containers")
        if spec.get(name)
    }


def _quality(containers: Sequence[Json]) -> str:
    asked = [container["resources"] for container in containers]
    if not any(_of_quality(resources.get(kind)) for resources in asked for kind in ("requests", "limits")):
        return "BestEffort"
    for resources in asked:
        limits, requests = _of_quality(resources.get("limits")), _of_quality(resources.get("requests"))
        if len(limits) < 2 or limits != requests:
            return "Burstable"
    return "Guaranteed"


def _of_quality(amounts: Json | None) -> dict[str, int]:
    """The amounts that decide; a text that is no quantity is for validation to refuse."""
    found: dict[str, int] = {}
    for name in ("cpu", "memory"):
        try:
            nanos = parse(str((amounts or {}).get(name, "0"))).nanos
        except QuantityError:
            continue
        if nanos:
            found[name] = nanos
    return found


def _add_label_keys(spec: Json, labels: Json) -> bool:
    """Merge matchLabelKeys into the selectors that they belong to; whether there were any."""
    constraints: list[Json] = spec.get("topologySpreadConstraints") or []
    affinity: Json = spec.get("affinity") or {}
    terms = [term for kind in _AFFINITIES for term in _terms(affinity.get(kind) or {})]
    if not any("matchLabelKeys" in one or "mismatchLabelKeys" in one for one in (*constraints, *terms)):
        return False
    if constraints:
        spec["topologySpreadConstraints"] = [_with_keys(constraint, labels) for constraint in constraints]
    if terms:
        spec["affinity"] = {
            **affinity,
            **{kind: _affinity(affinity[kind], labels) for kind in _AFFINITIES if kind in affinity},
        }
    return True


def _terms(affinity: Json) -> Iterable[Json]:
    yield from affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
        yield weighted["podAffinityTerm"]


def _affinity(affinity: Json, labels: Json) -> Json:
    required, preferred = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
    full = dict(affinity)
    if required in affinity:
        full[required] = [_with_keys(term, labels) for term in affinity[required]]
    if preferred in affinity:
        full[preferred] = [
            {**weighted, "podAffinityTerm": _with_keys(weighted["podAffinityTerm"], labels)}
            for weighted in affinity[preferred]
        ]
    return full


def _with_keys(term: Json, labels: Json) -> Json:
    selector: Json | None = term.get("labelSelector")
    if selector is None:
        return term
    expressions: list[Any] = list(selector.get("matchExpressions") or ())
    for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(name) or ():
            expression = {"key": key, "operator": operator, "values": [labels.get(key)]}
            if key in labels and expression not in expressions:
                expressions.append(expression)
    return {**term, "labelSelector": {**selector, **({"matchExpressions": expressions} if expressions else {})}}
