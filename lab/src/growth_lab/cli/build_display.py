"""The wait for a build, on a terminal: one moving line for the step, one fixed line for each that is done."""

from rich.console import Console
from rich.live import Live
from rich.text import Text

from growth_lab.local_cluster.progress import (
    Done,
    Event,
    Note,
    Progress,
    Step,
    Stopped,
    Tick,
    duration,
    plain_line,
    plain_lines,
)

_BAR_CELLS = 24


def build_display(console: Console) -> Progress:
    """The display that fits: drawn on a terminal, plain lines in a log."""
    return _Drawn(console) if console.is_terminal else plain_lines


def moving_line(step: Step, seconds: float, width: int) -> str:
    """The step that is under way: its name, how far it should be by experience, and what that says about the time."""
    share = min(seconds / step.usual_seconds, 1.0) if step.usual_seconds else 1.0
    filled = round(share * _BAR_CELLS)
    bar = "━" * filled + "╌" * (_BAR_CELLS - filled)
    times = f"{duration(seconds)} of usually {duration(step.usual_seconds)}"
    line = f"[{step.number}/{step.total}] {step.title}  {bar}  {times}"
    short = f"[{step.number}/{step.total}] {step.title}  {duration(seconds)}"
    return line if len(line) <= width else short[:width]


class _Drawn:
    """Draws only between a step's beginning and its end, so it never stands over other output."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case Step():
                self._stop()
                self._live = Live(self._line(event, 0), console=self._console, transient=True, auto_refresh=False)
                self._live.start()
            case Tick(step, seconds):
                if self._live is not None:
                    self._live.update(self._line(step, seconds), refresh=True)
            case Done() | Stopped():
                self._stop()
                self._console.print(Text(plain_line(event)))
            case Note(text):
                self._stop()
                self._console.print(Text(text))

    def _line(self, step: Step, seconds: float) -> Text:
        return Text(moving_line(step, seconds, self._console.width), no_wrap=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
