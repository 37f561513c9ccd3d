"""How the demo looks: pure, from what is known to what is shown."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from growth.cli.world_view import view
from growth.observe.summary import Summary
from growth.play.trace import Seen

_SHOWN_HAPPENINGS: Final = 7
_LOOKED_AT: Final = 60
_STYLES: Final = {
    "Running": "green",
    "ready": "green",
    "registered": "cyan",
    "refused": "yellow",
    "leaving": "dim",
    "gone": "dim",
    "unknown": "bold red",
    "not": "red",
}


class Ended(NamedTuple):
    """What happened in all."""

    happenings: int
    machines: int
    cluster_seconds: float
    seconds: float


def frame(picture: Summary, width: int, seconds: float, acts: Sequence[str], seen: Sequence[Seen]) -> RenderableType:
    """The act, the cluster, and what happened last."""
    act = acts[-1] if acts else "the curtain rises"
    runs = [
        (words, len(list(alike))) for words, alike in groupby((one.subject, one.what) for one in seen[-_LOOKED_AT:])
    ]
    lines = [_happening(*words, count) for words, count in runs[-_SHOWN_HAPPENINGS:]]
    lines += [Text()] * (_SHOWN_HAPPENINGS - len(lines))
    return Group(
        Panel(Text(act, style="bold"), title=f"{seconds:5.1f} s", title_align="left", border_style="cyan"),
        view(picture, width),
        Text(),
        *lines,
    )


def line(picture: Summary, seconds: float, act: str) -> str:
    """One act where nobody looks at a terminal."""
    counts = f"{picture.ready}/{picture.nodes} nodes ready, {picture.pods} pods, {picture.waiting} waiting"
    return f"{seconds:5.1f} s  {counts:44}  {act}"


def summary(ended: Ended, *, real: bool, seed: int) -> Text:
    """The last words."""
    where = "on a real control plane" if real else f"on the virtual cluster, seed {seed}"
    text = Text("The sale went well", style="bold green")
    text.append(
        f": {ended.happenings} things were seen to happen to {ended.machines} machines and their pods "
        f"in {ended.cluster_seconds:.0f} s of cluster time, {ended.seconds:.0f} s of yours, {where}.",
        style="not bold default",
    )
    return text


def _happening(subject: str, what: str, count: int) -> Text:
    """One line for what happens to many at once."""
    style = next((style for word, style in _STYLES.items() if what.startswith(word)), "")
    return Text(f"  {subject} {what}" + (f" ({count} times)" if count > 1 else ""), style=style, no_wrap=True)
