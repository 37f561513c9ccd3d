"""What a build tells whoever waits for it."""

import sys
from collections.abc import Callable

import msgspec


class Step(msgspec.Struct, frozen=True):
    """One step of a build."""

    number: int
    total: int
    title: str
    usual_seconds: float


class Note(msgspec.Struct, frozen=True):
    """A sentence worth a line of its own."""

    text: str


class Tick(msgspec.Struct, frozen=True):
    """The step goes on; sent about once a second."""

    step: Step
    seconds: float


class Done(msgspec.Struct, frozen=True):
    """The step is over."""

    step: Step
    seconds: float


class Stopped(msgspec.Struct, frozen=True):
    """The step failed or was interrupted."""

    step: Step
    seconds: float


Event = Step | Tick | Done | Stopped | Note
Progress = Callable[[Event], None]

_LINE_EVERY_SECONDS = 30


def plain_line(event: Event) -> str:
    """An event as a line for a log; empty for what a log need not say."""
    match event:
        case Note(text):
            return text
        case Step(number, total, title, usual):
            return f"[{number}/{total}] {title} (usually {duration(usual)})"
        case Tick(step, seconds) if round(seconds) > 0 and round(seconds) % _LINE_EVERY_SECONDS == 0:
            return f"[{step.number}/{step.total}] {step.title}: {duration(seconds)} so far"
        case Tick():
            return ""
        case Done(step, seconds):
            return f"[{step.number}/{step.total}] {step.title}: done in {duration(seconds)}"
        case Stopped(step, seconds):
            return f"[{step.number}/{step.total}] {step.title}: stopped after {duration(seconds)}"


def plain_lines(event: Event) -> None:
    """To standard error, one line per event: for logs, CI and tests."""
    if line := plain_line(event):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def duration(seconds: float) -> str:
    """``8 s``, ``2 min 05 s``."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"
