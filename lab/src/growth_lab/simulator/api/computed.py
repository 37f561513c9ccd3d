"""What is worked out when somebody looks, instead of being written all the time.

A thousand kubelets renew their Leases every ten seconds, and nobody reads them. Whoever owns such objects tells here
how they look at this instant (``shown_as``), and is told when watchers of the kind come and go (``when_watched``): only
while there are any, changes must really be written, because a watch tells nothing but writes.
"""

from collections.abc import Callable

from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import Resource

View = Callable[[Json], Json]
Watched = Callable[[bool], None]


class Computed:
    """By kind: how objects look when they are read, and who wants to know of watchers."""

    def __init__(self) -> None:
        self._views: dict[Resource, View] = {}
        self._watched: dict[Resource, list[Watched]] = {}

    def shown_as(self, resource: Resource, view: View) -> None:
        """From now on ``view(stored)`` is what gets, lists and the first events of a watch show."""
        self._views[resource] = view

    def when_watched(self, resource: Resource, tell: Watched) -> None:
        """Call ``tell(True)`` when the first watcher of the kind comes, ``tell(False)`` when the last one has gone."""
        self._watched.setdefault(resource, []).append(tell)

    # For the server.

    def view(self, resource: Resource) -> View | None:
        """How objects of the kind are to be shown; None means as they are stored."""
        return self._views.get(resource)

    def tell(self, resource: Resource, *, is_watched: bool) -> None:
        """The first watcher came, or the last one went."""
        for listener in self._watched.get(resource, ()):
            listener(is_watched)
