"""``growth demo``: a story played on a virtual cluster, or on a real one of this machine, shown as it happens."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import click
from rich.console import Console
from rich.live import Live

from growth.cli.errors import UsageError
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth.run.logs import silent_logs
from growth_lab.cli.demo_frame import Scene, scene_of
from growth_lab.cli.demo_view import frame, last_words, line
from growth_lab.local_cluster.errors import LocalError
from growth_lab.scenarios.context import DidNotHappen, Play
from growth_lab.scenarios.cost_report import Bill, bill_of
from growth_lab.scenarios.demo import a_sale, prices
from growth_lab.scenarios.local import a_real_world
from growth_lab.scenarios.simulated import play_virtually

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
    """Watch Growth through a sale: pods come, machines are bought, some cannot be had. Half a minute, costs nothing.

    Growth itself runs here, all of it, on a virtual cluster that is Kubernetes as far as a client can see: an API
    server, a scheduler, controllers and kubelets on a clock of their own. Minutes of real life are seconds.

    \b
    Example:
      growth demo --speed 3
      growth demo --real
    """
    if real and speed != 1.0:
        raise UsageError(f"--speed {speed:g} needs the virtual cluster: a real one has the speed that it has")
    console = Console()
    show = _Showing(console, speed)
    try:
        with silent_logs():  # what Growth decides is seen; a line among the frames would tear them
            if real:
                asyncio.run(_play_really(show))
            else:
                play_virtually(show.tell, seed, speed=speed, alone=True)
    except (DidNotHappen, LocalError) as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        console.print("\nended early; nothing is left behind")
        raise SystemExit(130) from None
    if show.bill is not None:
        console.print(last_words(show.bill, console.width, show.seconds, real=real, seed=seed))


async def _play_really(show: "_Showing") -> None:
    show.console.print("starting a control plane", style="dim")
    async with a_real_world() as cache:
        await cache.play(show.tell, alone=True)


@dataclass
class _Showing:
    """The story and those who look on, together."""

    console: Console
    speed: float
    world: ClusterCache = field(default_factory=ClusterCache)
    scenes: list[Scene] = field(default_factory=list[Scene])
    seconds: float = 0.0
    """Of the cluster's time."""
    bill: Bill | None = None

    async def tell(self, play: Play) -> None:
        """Play the sale while frames are drawn, or while lines are printed where nobody looks at a terminal."""
        began = asyncio.get_running_loop().time()
        async with watching(play.client, self.world):
            story = asyncio.create_task(a_sale(play, lambda: self._write_bill(play)))
            try:
                await (self._draw if self.console.is_terminal else self._print)(play, story.done)
            finally:
                story.cancel()
            await story
        self.seconds = asyncio.get_running_loop().time() - began

    def _write_bill(self, play: Play) -> None:
        """Of the evening: at night the machines are gone, and nothing is left to be paid for."""
        self.bill = bill_of(play.trace, prices())

    async def _draw(self, play: Play, is_over: Callable[[], bool]) -> None:
        with Live(console=self.console, auto_refresh=False) as live:
            while not is_over():
                context = scene_of(self.world.snapshot(play.now()))
                shown = frame(context, self.scenes, play.acts, play.trace.seen, self.console.width)
                live.update(shown, refresh=True)
                self.scenes.append(context)
                await asyncio.sleep(min(_FRAME_SECONDS * self.speed, _LONGEST_FRAME_SECONDS))

    async def _print(self, play: Play, is_over: Callable[[], bool]) -> None:
        told = 0
        while not is_over():
            for act in play.acts[told:]:
                self.scenes.append(scene_of(self.world.snapshot(play.now())))
                self.console.print(line(self.scenes, act), soft_wrap=True)
            told = len(play.acts)
            await asyncio.sleep(_FRAME_SECONDS)
