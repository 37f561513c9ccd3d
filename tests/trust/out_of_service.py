"""What must hold at every instant about nodes out of service: no machine that lives is taken for dead, and no volume is
torn off it; and what was taken out of service comes back only when nothing of its old life is left.

Whether a machine lived is read from the played cloud (``power``), and who set a taint from the wire (``deeds``). What
became of servers at Hetzner is known to their sandbox alone, and asked by the stories of it.
"""

from collections.abc import Iterator
from typing import Final

from growth.act.effect_hooks import EffectPoint
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.out_of_service import OUT_OF_SERVICE, PROOF
from growth.api.pod import Pod
from growth.api.storage import VolumeAttachment
from growth.api.tolerations import Taint, tolerates
from growth.cloud.kwok.machine_record import config_map_name, record_from
from tests.trust.deeds import Deeds
from tests.trust.picture import Exit, Picture, Step

# What was read so many seconds ago may still be acted on; a write takes some time on top of that.
FRESH_SECONDS: Final = 5.0
_TRAVELS_SECONDS: Final = 0.5
_SERVER: Final = "hcloud://"
# What every edit holds that sets the taint or takes it off: there goes the note, too.
_WRITTEN: Final = b"out-of-service"


def note_exit(step: Step, picture: Picture, deeds: Deeds) -> None:
    """Remember who took a node out of service, if that is what the step did."""
    if step.kind is not NODES or step.is_end or not _gained(step):
        return
    # Who puts our own taint back on a node that still bears our note has made it ours again.
    is_put_back = step.before is not None and PROOF in step.before.metadata.annotations
    is_growths = made_by_growth(step, deeds) or is_put_back
    picture.exits[step.meta.uid] = Exit(step.at, is_growths)


def made_by_growth(step: Step, deeds: Deeds) -> bool:
    """Whether Growth made this change of what is out of service; also if it never heard that it did."""
    resource = step.kind.plural
    if any(_WRITTEN in deed.body for deed in deeds.making(resource, step.version)):
        return True
    unanswered = deeds.unanswered(resource, step.meta.name)
    is_peoples = step.version in deeds.by_people
    return not is_peoples and any(deed.at <= step.at and _WRITTEN in deed.body for deed in unanswered)


def living_taken_for_dead(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Growth's taint is set only when nothing ran on the machine for as long as a proof takes, until just now."""
    node: Node = step.now
    if step.is_end or not _gained(step) or not made_by_growth(step, deeds) or _is_unseen(node):
        return
    death = picture.powers.last_death(node.spec.provider_id, step.at)
    if death is not None and _is_given_back(node, step.at, deeds):
        return
    if death is None:
        yield f"{node.metadata.name} was taken out of service, and its machine never lost its power"
        return
    began, ended = death
    if step.at - ended > FRESH_SECONDS + _TRAVELS_SECONDS:
        yield f"{node.metadata.name} was taken out of service, and its machine ran again for {step.at - ended:.1f} s"
    elif ended - began < deeds.proven_after:
        yield f"{node.metadata.name} was taken out of service, and its machine was off for {ended - began:.2f} s only"


def _is_given_back(node: Node, at: float, deeds: Deeds) -> bool:
    """Whether Growth itself had its machine deleted: that needs no proof."""
    uid = node.spec.provider_id.rpartition("/")[2]
    asked = deeds.deletions("configmaps", config_map_name(node.metadata.name), uid, until=at)
    return any(deed.by == EffectPoint.DELETE_MACHINE for deed in asked)


def powered_off_unasked(step: Step, _: Picture, deeds: Deeds) -> Iterator[str]:
    """Nobody's power is cut by Growth where people did not allow that."""
    if step.is_end or step.before is None or deeds.may_fence:
        return
    if record_from(step.now).is_fenced and not record_from(step.before).is_fenced:
        yield f"{record_from(step.now).name} was powered off, and failover.fence is false"


def torn_off(step: Step, picture: Picture, _: Deeds) -> Iterator[str]:
    """A volume is on one node at a time, and never leaves one whose machine runs because Growth tainted that."""
    attachment: VolumeAttachment = step.now
    volume, name = attachment.spec.source.persistent_volume_name, attachment.spec.node_name
    if step.is_new and volume:
        for other in picture.attachments.values():
            if other.spec.source.persistent_volume_name == volume and other.spec.node_name != name:
                yield f"the volume {volume} was attached to {name} while it hung on {other.spec.node_name}"
    node = picture.nodes.get(name)
    if node is None or _is_unseen(node) or not _begins_to_go(step):
        return
    exit_, attached_at = picture.exits.get(node.metadata.uid), picture.attached_at.get(attachment.metadata.name, 0.0)
    if exit_ is None or not exit_.is_growths or not _marks(node) or exit_.at < attached_at:
        return
    death = picture.powers.last_death(node.spec.provider_id, step.at)
    if death is None or death[1] <= attached_at:
        yield f"the volume {volume} was taken off {name}, whose machine ran all the time since it was attached"


def taken_back_too_soon(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Growth takes its own taint off, and only when nothing of the node's old life is there."""
    if step.is_end or step.before is None:
        return
    now = _marks(step.now)
    lost = [taint for taint in _marks(step.before) if taint not in now]
    if not lost or not made_by_growth(step, deeds):
        return
    name, exit_ = step.meta.name, picture.exits.get(step.meta.uid)
    if exit_ is not None and not exit_.is_growths:
        yield f"{name} was taken back into service by Growth, and a person had taken it out"
    left = [f"pod {pod.metadata.name}" for pod in picture.pods_on(name) if _must_go(pod, lost[0])]
    left += [one.metadata.name for one in picture.attachments.values() if one.spec.node_name == name]
    if left:
        yield f"{name} was taken back into service while {', '.join(left)} of its old life were there"


def _marks(node: Node) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint.key == OUT_OF_SERVICE]


def _is_unseen(node: Node) -> bool:
    return node.spec.provider_id.startswith(_SERVER)


def _gained(step: Step) -> bool:
    return bool(_marks(step.now)) and (step.before is None or not _marks(step.before))


def _begins_to_go(step: Step) -> bool:
    was_going = step.before is not None and step.before.metadata.deletion_timestamp is not None
    return not was_going and (step.is_end or step.meta.deletion_timestamp is not None)


def _must_go(pod: Pod, taint: Taint) -> bool:
    is_static = "kubernetes.io/config.mirror" in pod.metadata.annotations
    stays = is_static or any(tolerates(toleration, taint) for toleration in pod.spec.tolerations)
    return not stays and pod.status.phase not in ("Succeeded", "Failed")
