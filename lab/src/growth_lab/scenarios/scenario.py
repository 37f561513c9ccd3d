"""A story: a name, what it is about, and a coroutine that makes things happen and waits for what must follow."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from growth_lab.scenarios.context import Play

Telling = Callable[[Play], Awaitable[None]]


@dataclass(frozen=True)
class Story:
    """One story. Its docstring says what it is about, its name is what ``make stories`` prints."""

    name: str
    capability: str
    about: str
    tell: Telling
    is_first: bool = False
    """Whether it is the one of its capability that every ``make test`` plays on a real control plane."""

    any_node: bool = False
    """Whether it does not matter which of several equal nodes a pod goes to."""

    alone: bool = False
    """Whether Growth acts in it: then it has a cluster to itself."""

    ignores: str = ""
    """What is left to chance on a real cluster, too, and not compared: happenings that hold one of these words, which
    commas separate."""

    unless_stopped: str = ""
    """Why its own assertions need not hold if Growth is stopped on the way; empty if they hold then, too."""


class Stories:
    """All stories of one module, in the order in which they are written."""

    def __init__(self, capability: str, *, alone: bool = False) -> None:
        self._capability: Final = capability
        self._alone: Final = alone
        self.all: list[Story] = []

    def story(
        self, *, is_first: bool = False, any_node: bool = False, ignores: str = "", unless_stopped: str = ""
    ) -> Callable[[Telling], Telling]:
        """Make a coroutine function a story; its name and docstring are the story's."""

        def take(tell: Telling) -> Telling:
            name = tell.__name__.replace("_", " ")
            about = (tell.__doc__ or "").strip()
            story = Story(name, self._capability, about, tell, is_first, any_node, self._alone, ignores, unless_stopped)
            self.all.append(story)
            return tell

        return take
