"""Would kube-scheduler place this pod on this node? On any? If not, why?"""

from growth.api.pod import Pod
from growth.decide.fit.checks import hindrance, prepare
from growth.decide.fit.claims import single_pod_claims
from growth.decide.fit.disks import in_use
from growth.decide.fit.misfit import Misfit, Verdict, verdict_from
from growth.decide.fit.site import Check, Site
from growth.decide.fit.spread import crowded_out
from growth.decide.fit.stage import Stage


def fit(stage: Stage, pod: Pod, node_name: str) -> Misfit | None:
    """None if the pod fits; else the first filter that refuses, in the scheduler's order.

    If other pods are nominated to the node and at least as important, the pod must fit with them and without them.
    Raises KeyError for a node that is not on the stage.
    """
    return _answer(stage, pod, prepare(stage, pod), stage.site(node_name))


def fits_anywhere(stage: Stage, pod: Pod) -> Verdict:
    """All nodes that would take the pod, or why none does."""
    refusal = unplaceable(stage, pod)
    if refusal is not None:
        return Verdict((), (), refusal)
    checks = prepare(stage, pod)
    fitting: list[str] = []
    misfits: dict[str, Misfit] = {}
    for site in stage.sites():
        misfit = _answer(stage, pod, checks, site)
        if misfit is None:
            fitting.append(site.name)
        else:
            misfits[site.name] = misfit
    return verdict_from(fitting, misfits)


def unplaceable(stage: Stage, pod: Pod) -> Misfit | None:
    """What holds before any node is looked at: no machine that we could buy would help."""
    refusal = hindrance(stage, pod)
    if refusal is not None or not pod.spec.volumes:
        return refusal
    return in_use(stage, single_pod_claims(stage, pod))


def _answer(stage: Stage, pod: Pod, checks: tuple[Check, ...], site: Site) -> Misfit | None:
    nominated = stage.nominated_to(site.name, pod)
    if nominated:
        # First with them, as the scheduler does: its reason is then the one that names their room.
        mark = stage.mark()
        for other in nominated:
            stage.place(other, site.name)
        misfit = _first_misfit(checks, site) or crowded_out(stage.crowd, pod, nominated, site)
        stage.back_to(mark)
        if misfit is not None:
            return misfit
    return _first_misfit(checks, site)


def _first_misfit(checks: tuple[Check, ...], site: Site) -> Misfit | None:
    for check in checks:
        misfit = check(site)
        if misfit is not None:
            return misfit
    return None
