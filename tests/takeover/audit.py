"""What no takeover may leave behind: work that is done twice, and what a version could not read."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bench.failover_cluster import Scene
from bench.failover_witness import Death, Witness, wrong_taints
from bench.growth_process import GrowthProcess
from tests.takeover.moments import NODES_KEPT, Moment
from tests.takeover.sight import Sight


async def problems(
    scene: Scene, sight: Sight, started: Sequence[GrowthProcess], moments: Sequence[Moment]
) -> list[str]:
    """Everything that is wrong after these moments, a sentence each."""
    machines = NODES_KEPT + moments.count(Moment.REPLACING)
    return [
        *machine_problems(await scene.sandbox.calls(), len(sight.requests), machines),
        *taint_problems(scene.witness, sight.taints),
        *pod_problems(scene.witness, len(sight.web_uids)),
        *(f"process {number}: {line}" for number, one in enumerate(started) for line in complaints(one.text())),
    ]


def machine_problems(calls: Mapping[str, int], requests: int, needed: int) -> Iterator[str]:
    """Machines that were launched or terminated and need not have been."""
    created = calls.get("POST /servers", 0)
    deleted = calls.get("DELETE /servers/{id}", 0)
    if created != needed:
        yield f"{created} machines were launched; expected {needed}"
    if requests != needed:
        yield f"{requests} NodeRequests were created; expected {needed}"
    if deleted:
        yield f"{deleted} machines were terminated; expected none"


def taint_problems(witness: Witness, taints: Counter[str]) -> Iterator[str]:
    """Nodes that went out of service without a reason, or twice for one."""
    for name in wrong_taints(witness):
        yield f"node {name} went out of service and its machine had power"
    for name in witness.deaths:
        if taints[name] != 1:
            yield f"node {name} went out of service {taints[name]} times; expected once"


def pod_problems(witness: Witness, web_pods: int) -> Iterator[str]:
    """Volumes on two nodes, and pods that were ended although they were successors already."""
    for volume in witness.attached_twice:
        yield f"volume {volume} was attached to two nodes at one time"
    deaths: list[Death] = list(witness.deaths.values())
    for death in deaths:
        # The pod that came after this death may have lost its own machine later.
        expected = sum(one.cut_at >= death.cut_at for one in deaths)
        if len(death.heirs) != expected:
            since = f"since {death.home.node} died"
            yield f"{death.home.pod} had {len(death.heirs)} successors {since}; expected {expected}"
    if web_pods > 1 + len(deaths):
        yield f"the Deployment had {web_pods} pods, one after the other; expected at most {1 + len(deaths)}"


def complaints(log: str) -> Iterator[str]:
    """Lines that say that something failed, or that are none of Growth's: every line of its log is JSON."""
    for text in log.splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            yield f"expected a line of JSON: {text}"
            continue
        if line["level"] in ("error", "critical") or "traceback" in line:
            yield str(line["message"])
