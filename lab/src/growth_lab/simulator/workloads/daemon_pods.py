"""The pods of a DaemonSet: which nodes they belong on, and how each is pinned to its own."""

from typing import Any, Final

import msgspec

from growth.api.pod import TemplateSpec
from growth.api.tolerations import NO_EXECUTE, Taint, untolerated
from growth.decide.fit import node_affinity
from growth.decide.fit.daemonset_pods import daemon_spec
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import DAEMON_SETS
from growth_lab.simulator.workloads.pod_from_template import pod_from_template, template_hash

REVISION: Final = "controller-revision-hash"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class Daemon:
    """One DaemonSet in one version, ready to be asked about many nodes."""

    def __init__(self, daemon_set: Json) -> None:
        self._set = daemon_set
        self.template: Json = daemon_set["spec"]["template"]
        self.revision = template_hash(self.template)
        spec = msgspec.convert(self.template["spec"], TemplateSpec)
        self._node_name = spec.node_name
        self._matches = node_affinity.matcher(spec)
        self._tolerations = daemon_spec(spec).tolerations
        known = parts(self.template["spec"], "tolerations")
        added = [msgspec.to_builtins(toleration) for toleration in self._tolerations[len(known) :]]
        self._pod_tolerations = known + [{k: v for k, v in one.items() if v} for one in added if one not in known]

    def may_start_and_stay(self, node: Json) -> tuple[bool, bool]:
        """Whether a pod is made for the node, and whether one that is there may stay."""
        name = node["metadata"]["name"]
        if self._node_name not in ("", name):
            return False, False
        if self._matches is not None and not self._matches(part(node, "metadata", "labels"), name):
            return False, False
        taints = msgspec.convert(parts(node, "spec", "taints"), list[Taint])
        if untolerated(taints, self._tolerations) is None:
            return True, True
        evicting = [taint for taint in taints if taint.effect == NO_EXECUTE]
        return False, untolerated(evicting, self._tolerations) is None

    def pod_for(self, node_name: str) -> Json:
        """The pod for one node: the scheduler still has to place it, but can do so nowhere else."""
        affinity = part(self.template["spec"], "affinity")
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}]
        required = {**part(affinity, "nodeAffinity", _REQUIRED), "nodeSelectorTerms": terms}
        pinned = {**affinity, "nodeAffinity": {**part(affinity, "nodeAffinity"), _REQUIRED: required}}
        return pod_from_template(
            self.template,
            self._set,
            DAEMON_SETS,
            labels={REVISION: self.revision},
            spec={"affinity": pinned, "tolerations": self._pod_tolerations},
        )


def node_of(pod: Json) -> str:
    """The node that a daemon's pod is on, or is meant for."""
    name = pod["spec"].get("nodeName")
    if name:
        return name
    for term in parts(pod["spec"], "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms"):
        for field in parts(term, "matchFields"):
            values: Any = field.get("values")
            if field["key"] == "metadata.name" and values:
                return values[0]
    return ""
