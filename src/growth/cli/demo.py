"""``growth demo``: a story played on a virtual cluster, or on a real one of this machine, shown as it happens."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import click
from rich.console import Console
from rich.live import Live

from growth.cli.demo_view import Ended, frame, line, summary
from growth.cli.failures import Refused
from growth.local.errors import LocalError
from growth.observe.summary import summary_of
from growth.observe.world import World
from growth.play.play import DidNotHappen, Play
from growth.play.real import a_real_world
from growth.play.shop import a_sale
from growth.play.virtual import play_virtually
from growth.run.watching import everywhere, watching

_FRAME_SECONDS: Final = 0.1
# Of the cluster's time, however fast it goes: nobody should miss an act.
_LONGEST_FRAME_SECONDS: Final = 1.0


@click.command()
@click.option("--real", is_flag=True, help="Play on a real control plane of this machine (built if need be).")
@click.option(
    "--speed",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    help="How many virtual seconds pass in one of yours.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="What decides every chance in the virtual cluster."
)
def demo(*, real: bool, speed: float, seed: int) -> None:
    """Watch a cluster through a sale: machines come, one dies, all is given back. Half a minute, costs nothing.

    The virtual cluster is Kubernetes as far as a client can see: an API server, a scheduler, controllers and kubelets
    on a clock of their own. Growth's own informers look on through the same door that they use in a real one.

    \b
    Example:
      growth demo --speed 3
      growth demo --real
    """
    if real and speed != 1.0:
        raise Refused(f"--speed {speed:g} needs the virtual cluster: a real one has the speed that it has")
    console = Console()
    show = _Showing(console, speed, started=time.monotonic())
    try:
        if real:
            asyncio.run(_play_really(show))
        else:
            play_virtually(show.tell, seed, speed=speed)
    except (DidNotHappen, LocalError) as error:
        raise Refused(str(error)) from error
    except KeyboardInterrupt:
        console.print("\nended early; nothing is left behind")
        raise SystemExit(130) from None
    console.print(summary(show.ended(), real=real, seed=seed))


async def _play_really(show: "_Showing") -> None:
    show.console.print("starting a control plane", style="dim")
    async with a_real_world() as world:
        await world.play(show.tell)


@dataclass
class _Showing:
    """The story and those who look on, together."""

    console: Console
    speed: float
    started: float
    world: World = field(default_factory=World)
    cluster_seconds: float = 0.0
    happenings: int = 0
    machines: int = 0

    async def tell(self, play: Play) -> None:
        """Play the sale while frames are drawn, or while lines are printed where nobody looks at a terminal."""
        began = asyncio.get_running_loop().time()
        async with watching(play.client, self.world, everywhere(self.world)):
            story = asyncio.create_task(a_sale(play))
            try:
                await (self._draw if self.console.is_terminal else self._print)(play, story.done, began)
            finally:
                story.cancel()
            await story
        self.cluster_seconds = asyncio.get_running_loop().time() - began
        self.happenings = len(play.trace.seen)
        self.machines = sum(one.what == "registered" for one in play.trace.seen)

    def ended(self) -> Ended:
        """What there is to say when it is over."""
        return Ended(self.happenings, self.machines, self.cluster_seconds, time.monotonic() - self.started)

    async def _draw(self, play: Play, is_over: Callable[[], bool], began: float) -> None:
        clock = asyncio.get_running_loop().time
        with Live(console=self.console, auto_refresh=False) as live:
            while not is_over():
                picture = summary_of(self.world.snapshot(play.now()))
                live.update(
                    frame(picture, self.console.width, clock() - began, play.acts, play.trace.seen), refresh=True
                )
                await asyncio.sleep(min(_FRAME_SECONDS * self.speed, _LONGEST_FRAME_SECONDS))

    async def _print(self, play: Play, is_over: Callable[[], bool], began: float) -> None:
        clock, told = asyncio.get_running_loop().time, 0
        while not is_over():
            for act in play.acts[told:]:
                picture = summary_of(self.world.snapshot(play.now()))
                self.console.print(line(picture, clock() - began, act), soft_wrap=True)
            told = len(play.acts)
            await asyncio.sleep(_FRAME_SECONDS)
