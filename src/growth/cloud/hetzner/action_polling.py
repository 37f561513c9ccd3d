"""Actions, followed to their end: those of all servers together, many with one call."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from growth.cloud.errors import ProviderError
from growth.cloud.hetzner.api_client import Api
from growth.cloud.hetzner.provider_errors import ApiRefused, NoAnswer
from growth.cloud.hetzner.wire import Action, read

# One page of answers.
_TOGETHER: Final = 50
# Creating takes 5 to 20 s, most other things about one. The longer something takes, the rarer it is looked at.
_FIRST_LOOK_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 3.0
_SLOWER: Final = 1.5
# What is due so soon is looked at together with what is due now.
_SOON_SECONDS: Final = 0.5


@dataclass(slots=True)
class _Watch:
    """One action that somebody waits for."""

    due: float
    pause: float = _FIRST_LOOK_SECONDS
    ended: asyncio.Future[Action] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    watchers: int = 0


class ActionPoller:
    """Looks at all actions that somebody waits for; there is no task as long as nobody does."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._watched: dict[int, _Watch] = {}
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    async def failures(self, actions: Sequence[Action], within_seconds: float) -> Sequence[Action]:
        """Those that failed, when all have ended. What has not ended in time is no failure: nobody knows."""
        failed = [action for action in actions if action.status == "error"]
        running = [action.id for action in actions if action.status == "running"]
        if not running:
            return failed
        watches = [self._watch(action_id) for action_id in running]
        try:
            await asyncio.wait([watch.ended for watch in watches], timeout=within_seconds)
        finally:
            for action_id, watch in zip(running, watches, strict=True):
                self._leave(action_id, watch)
        ended = [watch.ended.result() for watch in watches if watch.ended.done()]
        return [*failed, *(action for action in ended if action.status == "error")]

    async def close(self) -> None:
        """Nobody is told any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _watch(self, action_id: int) -> _Watch:
        watch = self._watched.get(action_id)
        if watch is None:
            watch = self._watched[action_id] = _Watch(self._loop.time() + _FIRST_LOOK_SECONDS)
        watch.watchers += 1
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._look(), name="hetzner actions")
        return watch

    def _leave(self, action_id: int, watch: _Watch) -> None:
        """One who waited goes. What nobody waits for is not looked at."""
        watch.watchers -= 1
        if not watch.watchers and self._watched.get(action_id) is watch:
            del self._watched[action_id]

    async def _look(self) -> None:
        while self._watched:
            # Not for longer than until the first look at one that begins meanwhile.
            pause = min(watch.due for watch in self._watched.values()) - self._loop.time()
            await asyncio.sleep(min(pause, _FIRST_LOOK_SECONDS))
            soon = self._loop.time() + _SOON_SECONDS
            due = sorted(action_id for action_id, watch in self._watched.items() if watch.due <= soon)
            for first in range(0, len(due), _TOGETHER):
                ids = due[first : first + _TOGETHER]
                ended = {action.id: action for action in await self._asked(ids) if action.status != "running"}
                self._note(ids, ended)

    def _note(self, ids: Sequence[int], ended: dict[int, Action]) -> None:
        for action_id in ids:
            watch = self._watched.get(action_id)
            if watch is None:
                continue  # whoever waited has gone
            if action_id in ended:
                watch.ended.set_result(ended[action_id])
                del self._watched[action_id]
            else:
                watch.pause = min(watch.pause * _SLOWER, _LONGEST_PAUSE_SECONDS)
                watch.due = self._loop.time() + watch.pause

    async def _asked(self, ids: Sequence[int]) -> Sequence[Action]:
        """How they are; nothing if the API does not say now, because those who wait have a patience of their own."""
        try:
            answer = await self._api.ask("GET", "/actions", query={"id": ids, "per_page": _TOGETHER})
            return read(answer.get("actions"), list[Action], "GET /actions")
        except (ApiRefused, NoAnswer, ProviderError):
            return ()


def reason_of(actions: Sequence[Action]) -> str:
    """Why they failed, in words."""
    return "; ".join(f"{one.command} failed{_because(one)}" for one in actions)


def _because(action: Action) -> str:
    return f": {action.error.message} ({action.error.code})" if action.error else ""
