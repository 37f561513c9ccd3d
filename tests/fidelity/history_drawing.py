"""Short histories drawn by a seed: nodes come, pods and apps come, and then this and that happens to them."""

import random
from dataclasses import dataclass, field

from tests.fidelity import happenings as what
from tests.fidelity.happenings import Happening


@dataclass(frozen=True)
class History:
    """What happens, in order; each step begins when the one before it is over."""

    seed: int
    index: int
    steps: tuple[Happening, ...]


@dataclass
class _Drawing:
    """What is there so far, as far as drawing needs it."""

    rng: random.Random
    steps: list[Happening] = field(default_factory=list[Happening])
    nodes: list[str] = field(default_factory=list[str])
    silent: list[str] = field(default_factory=list[str])
    pods: list[str] = field(default_factory=list[str])
    disks: list[str] = field(default_factory=list[str])
    apps: dict[str, str] = field(default_factory=dict[str, str])
    names: int = 0

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}-{self.names}"

    def node(self) -> str:
        return self.rng.choice(self.nodes)


def draw(seed: int, index: int, *, without_slow: bool = False) -> History:
    """The index-th history of this seed."""
    rng = random.Random(f"history/{seed}/{index}")  # noqa: S311 - a seed that can be repeated is the point
    drawing = _Drawing(rng)
    # One node is never hurt: with all nodes of a zone silent, the lifecycle controller suspects itself.
    drawing.steps += [what.NodeComes("steady"), what.NodeComes("steady-too")]
    for _ in range(rng.randint(1, 2)):
        _node_comes(drawing)
    for _ in range(rng.randint(1, 4)):
        rng.choice(_COMING)(drawing)
    for _ in range(rng.randint(2, 5)):
        rng.choice(_COMING + _HARMING * 2)(drawing)
    if not without_slow and rng.random() < 0.15 and not drawing.disks:
        _node_goes(drawing)
    return History(seed, index, tuple(drawing.steps))


def _node_comes(drawing: _Drawing) -> None:
    name = drawing.name("node")
    drawing.nodes.append(name)
    drawing.steps.append(what.NodeComes(name, taint=drawing.rng.choice(("", "", "", "drawn:NoSchedule"))))


def _pod_comes(drawing: _Drawing) -> None:
    name, rng = drawing.name("pod"), drawing.rng
    drawing.pods.append(name)
    cpu = rng.choice(("100m", "1", "3", "100"))
    drawing.steps.append(
        what.PodComes(name, drawing.node(), cpu, tolerates=rng.random() < 0.3, keeps_away=rng.random() < 0.3)
    )


def _app_comes(drawing: _Drawing) -> None:
    kind = drawing.rng.choice(("Deployment", "Deployment", "StatefulSet", "DaemonSet"))
    name = drawing.name("app")
    drawing.apps[name] = kind
    # Daemons go everywhere anyway; a StatefulSet waits for ever for those of its pods that chance put on a dead node.
    is_free = kind == "DaemonSet" or (kind == "Deployment" and drawing.rng.random() < 0.6)
    node = "" if is_free else drawing.node()
    drawing.steps.append(what.AppComes(name, kind, drawing.rng.randint(1, 4), node))


def _job_comes(drawing: _Drawing) -> None:
    rng = drawing.rng
    drawing.steps.append(what.JobComes(drawing.name("job"), drawing.node(), rng.randint(1, 4), rng.randint(1, 3)))


def _disk_comes(drawing: _Drawing) -> None:
    name = drawing.name("disk")
    drawing.pods.append(name)
    drawing.disks.append(name)
    drawing.steps.append(what.DiskComes(name, drawing.node()))


def _budget_comes(drawing: _Drawing) -> None:
    free = [name for name in drawing.apps if what.BudgetComes(name, 1) not in drawing.steps]
    if free:
        drawing.steps.append(what.BudgetComes(drawing.rng.choice(free), 1))


def _pod_goes(drawing: _Drawing) -> None:
    if drawing.pods:
        name = drawing.rng.choice(drawing.pods)
        drawing.steps.append(what.PodGoes(name, drawing.rng.choice((None, 0))))


def _pod_is_evicted(drawing: _Drawing) -> None:
    stateful = [f"{name}-0" for name, kind in drawing.apps.items() if kind == "StatefulSet"]
    if drawing.pods or stateful:
        drawing.steps.append(what.PodIsEvicted(drawing.rng.choice(drawing.pods + stateful)))


def _claim_goes(drawing: _Drawing) -> None:
    if drawing.disks:
        drawing.steps.append(what.ClaimGoes(drawing.disks.pop()))


def _app_is_scaled(drawing: _Drawing) -> None:
    scalable = [name for name, kind in drawing.apps.items() if kind != "DaemonSet"]
    if scalable:
        name = drawing.rng.choice(scalable)
        drawing.steps.append(what.AppIsScaled(name, drawing.apps[name], drawing.rng.randint(0, 5)))


def _app_goes(drawing: _Drawing) -> None:
    if drawing.apps:
        name = drawing.rng.choice(list(drawing.apps))
        drawing.steps.append(what.AppGoes(name, drawing.apps.pop(name)))


def _node_is_cordoned(drawing: _Drawing) -> None:
    drawing.steps.append(what.NodeIsCordoned(drawing.node(), drawing.rng.random() < 0.7))


def _node_is_tainted(drawing: _Drawing) -> None:
    effect = drawing.rng.choice(("NoSchedule", "NoExecute"))
    drawing.steps.append(what.NodeIsTainted(drawing.node(), effect, drawing.rng.random() < 0.7))


def _node_falls_silent_or_returns(drawing: _Drawing) -> None:
    node = drawing.node()
    if node in drawing.silent:
        drawing.silent.remove(node)
        drawing.steps.append(what.NodeReturns(node))
    else:
        drawing.silent.append(node)
        drawing.steps.append(what.NodeFallsSilent(node))


def _node_goes(drawing: _Drawing) -> None:
    """Which pod of a StatefulSet is collected first is chance, and how many it makes anew follows from that."""
    apps = [step for step in drawing.steps if isinstance(step, what.AppComes)]
    ordered = {step.node for step in apps if step.kind == "StatefulSet"}
    if free := [node for node in drawing.nodes if node not in ordered]:
        drawing.steps.append(what.NodeGoes(drawing.rng.choice(free)))


_COMING = [_node_comes, _pod_comes, _pod_comes, _app_comes, _app_comes, _job_comes, _disk_comes]
_HARMING = [
    _pod_goes,
    _pod_is_evicted,
    _claim_goes,
    _app_is_scaled,
    _app_goes,
    _budget_comes,
    _node_is_cordoned,
    _node_is_tainted,
    _node_falls_silent_or_returns,
]
