"""A stage on which things happen by chance, with a decider that sees some objects later than others.

It sees each kind of object as it was a few writes ago, and what it says is done later, in any order, or lost. After
each write the promises are looked at.
"""

from collections.abc import Mapping
from random import Random

from growth.api.actions import Action, Hold
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import WORKLOADS
from tests.builders import Json
from tests.decide.queue.stage import Id, Stage


class Life:
    """``names`` are jobs that may come; ``happenings`` say what may happen, and how often beside the others."""

    def __init__(self, seed: int, stage: Stage, names: tuple[str, ...], happenings: Mapping[str, int]) -> None:
        self.chance = Random(seed)  # noqa: S311 - no secret
        self.stage, self.names = stage, names
        self._words = [word for word, weight in happenings.items() for _ in range(weight)]
        self.past: list[dict[Id, Json]] = [dict(stage.objects)]
        self.under_way: list[Action | Hold] = []
        self.seen_until = {QUEUED_JOBS: 0, WORKLOADS: 0}
        self.made: int = 0

    @property
    def jobs(self) -> tuple[str, ...]:
        """Those that came."""
        return self.names[: self.made]

    def live(self, steps: int) -> None:
        """Let so many things happen."""
        for _ in range(steps):
            self.happen(self.chance.choice(self._words))
            self.remember()

    def happen(self, word: str) -> None:
        """What may happen in every life."""
        match word:
            case "pass":
                self._look()
                self._take()
            case "play":
                self._play()
            case "leave":
                self._leave()
            case "restart":
                self.restart()
            case _:
                raise AssertionError(word)

    def check(self) -> None:
        """Safety: whatever was seen late, lost or done in another order."""
        raise NotImplementedError

    def remember(self) -> None:
        if self.past[-1] != self.stage.objects:
            self.past.append(dict(self.stage.objects))
            self.check()

    def restart(self) -> None:
        """It forgets all, and reads everything anew."""
        self.stage.memory, self.under_way = None, []
        self.seen_until = dict.fromkeys(self.seen_until, len(self.past) - 1)

    def _look(self) -> None:
        """Jobs and workloads are seen late, each by its own watch, but never backwards; the rest at once."""
        for kind, known in self.seen_until.items():
            newest = len(self.past) - 1
            lag = self.chance.choice([0, 0, 0, 1, 2, 3, 8])
            self.seen_until[kind] = max(known, newest - lag)
        seen = {key: one for key, one in self.stage.objects.items() if key[0] not in self.seen_until}
        for kind, instant in self.seen_until.items():
            seen |= {key: one for key, one in self.past[instant].items() if key[0] is kind}
        self.under_way = [*self.under_way, *self.stage.look(seen).said]

    def _take(self) -> None:
        """What was said is done in any order; some of it later, some never."""
        self.chance.shuffle(self.under_way)
        later: list[Action | Hold] = []
        for said in self.under_way:
            match self.chance.choice("nnnnnnlx"):
                case "n":
                    self.stage.take(said)
                    self.remember()
                case "l":
                    later.append(said)
                case _:
                    pass
        self.under_way = later

    def _play(self) -> None:
        """Pods are made and get ready; those of stopped jobs leave in their own time."""
        some, ready = (self.chance.sample(self.names, self.chance.randint(0, most)) for most in (len(self.names), 2))
        running = self.stage.running()
        self.stage.play_jobs(ready=ready, only=set(some) & set(running))
        if running and self.chance.random() < 0.1:
            self.stage.end(self.chance.choice(running))

    def _leave(self) -> None:
        """Pods of a stopped job are first leaving, and then gone."""
        stopped = [name for name in self.jobs if self.stage.job(name).spec.suspend]
        if stopped:
            name = self.chance.choice(stopped)
            active = self.stage.job(name).status.active
            status = {"active": 0, "ready": 0, "terminating": active, **({} if active else {"startTime": None})}
            self.stage.change(QUEUED_JOBS, name, {"status": status})

    def calm_down(self) -> None:
        """All is seen, done and ready at once from now on."""
        for name in self.jobs:
            self.stage.change(QUEUED_JOBS, name, {"status": {"terminating": 0}})
        self.stage.settle()
        self.remember()
