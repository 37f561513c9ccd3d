"""Is the cluster too broken to act in? The checker's own answer, from nodes as it saw them, whatever Growth believes.

Nodes that worked once and are neither coming nor going should work. If too many of them do not, nothing is bought and
nothing removed. Nodes of others count for those that work; that they halt Growth, too, for a while, is not asked here.
"""

from growth.api.node import Node
from growth.api.offering import POOL
from growth.api.settings.model import RegistrySettings
from growth.api.taints import STARTING
from tests.trust.picture import Picture


class Outages:
    """Since when the cluster is broken, step by step."""

    def __init__(self, settings: RegistrySettings, grace: float) -> None:
        self._settings, self._grace = settings, grace
        self._worked: set[str] = set()
        self.since: float | None = None
        """None while it is not."""
        self.ended_at: float | None = None
        """When the last one was over that was long enough for everybody to hear of it."""

    def seconds_at(self, at: float) -> float:
        """For how long it is broken at this instant, if that is longer than the grace; else 0."""
        seconds = at - self.since if self.since is not None else 0.0
        return seconds if seconds > self._grace else 0.0

    def take(self, picture: Picture, at: float) -> None:
        """Go on to how everything is after one more step."""
        self._worked |= {node.metadata.uid for node in picture.nodes.values() if node.is_ready and not _is_closed(node)}
        broken = sum(self._is_broken(picture, node) for node in picture.nodes.values())
        works = sum(self._works(picture, node) for node in picture.nodes.values())
        is_share_passed = 100 * broken > self._settings.unready_percent * (broken + works)
        if broken and (not works or (broken > self._settings.ok_unready and is_share_passed)):
            self.since = at if self.since is None else self.since
        else:
            self.ended_at = at if self.seconds_at(at) else self.ended_at
            self.since = None

    def _is_broken(self, picture: Picture, node: Node) -> bool:
        is_ours = POOL in node.metadata.labels and node.metadata.uid in self._worked
        return is_ours and not node.is_ready and not _is_closed(node) and not _is_going(picture, node)

    def _works(self, picture: Picture, node: Node) -> bool:
        return node.is_ready and not _is_closed(node) and not _is_going(picture, node)


def _is_closed(node: Node) -> bool:
    return any(taint.key == STARTING for taint in node.spec.taints)


def _is_going(picture: Picture, node: Node) -> bool:
    name = node.metadata.name
    request = picture.requests.get(name)
    is_given_up = request is not None and request.status.phase == "Deprovisioning"
    return is_given_up or any(removal.node_name == name for removal in picture.removals.values())
