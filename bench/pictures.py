"""Draw the pictures that the documents show, from made-up but truthful data and from tables: ``make pictures``."""

import asyncio
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from bench.failover_picture import failover
from bench.failover_scene import a_power_cut
from bench.fleet_scene import NOW, afternoon, world_of
from bench.growing_picture import growing
from bench.memory_scene import a_morning, book_of
from bench.memory_scene import scene_of as scene_of_memory
from bench.phase_picture import phases
from bench.queue_cohort_scene import an_evening
from bench.queue_scene import NOW as QUEUE_NOW
from bench.queue_scene import SETTINGS, an_afternoon
from bench.queue_scene import world_of as queue_world_of
from bench.removing_picture import removing
from bench.state_picture import states
from bench.status_scene import a_night, a_report
from growth.cli.explain_view import view as explain_view
from growth.cli.memory_list import listed
from growth.cli.memory_list import view as memory_view
from growth.cli.memory_show import story_of
from growth.cli.memory_show import view as story_view
from growth.cli.queue_explain_report import explained
from growth.cli.queue_explain_view import view as queue_explain_view
from growth.cli.queue_names import workload_meant
from growth.cli.queue_reader import see
from growth.cli.queue_report import report_of as queue_report_of
from growth.cli.queue_view import view as queue_view
from growth.cli.reports.cluster_summary import ClusterSummary, NodeGroup, PendingGroup, ResourceUse
from growth.cli.reports.machines import fleet_of
from growth.cli.snapshot import view
from growth.cli.status_view import view as status_view
from growth.cli.top import view as top_view
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth.run.logs import silent_logs
from growth_lab.cli.demo_frame import Scene, scene_of
from growth_lab.cli.demo_view import frame, last_words
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.cost_report import bill_of
from growth_lab.scenarios.demo import a_sale, prices
from growth_lab.scenarios.simulated import play_virtually

_IMAGES: Final = Path(__file__).parent.parent / "docs" / "images"
_NOW: Final = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
_GIB: Final = 1 << 30
_BLANK: Final = "&#160;"
# So wide rich draws one.
_CHARACTER: Final = 12.2
_INDENTED: Final = re.compile(rf'x="([\d.]+)" (y="[\d.]+") textLength="([\d.]+)"([^>]*)>((?:{_BLANK})+)(?=[^<])')


def _group(pool: str, kind: str, nodes: tuple[int, int], cpu: tuple[int, int], gib: tuple[int, int]) -> NodeGroup:
    ready, count = nodes
    return NodeGroup(
        pool=pool,
        instance_type=kind,
        nodes=count,
        ready=ready,
        cpu_millis=ResourceUse(cpu[0] * 1000, cpu[1] * 1000),
        memory_bytes=ResourceUse(gib[0] * _GIB, gib[1] * _GIB),
        pods=ResourceUse(cpu[0] * 2, 110 * count),
    )


def world() -> ClusterSummary:
    """A shop in the middle of a sale."""
    return ClusterSummary(
        at=_NOW,
        nodes=31,
        ready=29,
        pods=412,
        waiting=18,
        shapes=14,
        groups=(
            _group("default", "cx53", (18, 18), (268, 288), (447, 576)),
            _group("default", "cx33", (8, 10), (23, 40), (41, 80)),
            _group("gpu", "gex44", (3, 3), (9, 60), (48, 192)),
        ),
        waiting_groups=(
            PendingGroup("shop", "ReplicaSet checkout-7d9c5", 14, 1500, 2 * _GIB, _NOW - timedelta(seconds=9)),
            PendingGroup("ml", "Job train-0412", 4, 4000, 16 * _GIB, _NOW - timedelta(minutes=4)),
        ),
    )


def demo(width: int) -> RenderableType:
    """The demo as it looks when machines that were sold out have been replaced: played, not made up."""
    frames: list[RenderableType] = []

    async def tell(play: Play) -> None:
        world, scenes = ClusterCache(), list[Scene]()
        async with watching(play.client, world):
            story = asyncio.create_task(a_sale(play))
            while not story.done() and not any(act.startswith("one node has not come") for act in play.acts):
                scenes.append(scene_of(world.snapshot(play.now())))
                await asyncio.sleep(0.1)
            frames.append(frame(scene_of(world.snapshot(play.now())), scenes, play.acts, play.trace.seen, width))
            await story
        frames.append(last_words(bill_of(play.trace, prices()), width, _seconds(), real=False, seed=0))

    with silent_logs():
        play_virtually(tell, alone=True)
    return Group(*frames)


def memory(width: int) -> RenderableType:
    """What is remembered after a night of maintenance, and what one node is about to be given back."""
    morning = a_morning()
    return Group(
        Text("$ growth memory list", style="bold"),
        memory_view(listed(book_of(morning), "growth-memory"), width),
        Text("\n$ growth memory show worker-3", style="bold"),
        story_view(story_of(scene_of_memory(morning), "worker-3"), width),
    )


def queue(width: int) -> RenderableType:
    """Two queues on a busy afternoon, and what there is to say about one who waits."""
    seen = see(queue_world_of(an_afternoon()).snapshot(QUEUE_NOW), SETTINGS)
    one = workload_meant(seen.context, "ml/label-images", "")
    return Group(
        Text("$ growth queue", style="bold"),
        queue_view(queue_report_of(seen), width, 10),
        Text("\n$ growth queue explain ml/label-images", style="bold"),
        queue_explain_view(explained(seen, one, ()), width),
    )


def cohorts(width: int) -> RenderableType:
    """One queue of a cohort takes back what is its own, and what there is to say about who goes for it."""
    seen = see(queue_world_of(an_evening()).snapshot(QUEUE_NOW), SETTINGS)
    one = workload_meant(seen.context, "web/checkout", "")
    return Group(
        Text("$ growth queue", style="bold"),
        queue_view(queue_report_of(seen), width, 10),
        Text("\n$ growth queue explain web/checkout", style="bold"),
        queue_explain_view(explained(seen, one, ()), width),
    )


def _seconds() -> float:
    return asyncio.get_running_loop().time()


def draw(name: str, title: str, shown: RenderableType, width: int) -> None:
    """One picture of a terminal. Fonts come from the reader's machine, so that the picture loads nothing."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(shown)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title=title, unique_id=name), flags=re.DOTALL)
    svg = _INDENTED.sub(_moved, svg)
    (_IMAGES / f"{name}.svg").write_text(svg.replace("Fira Code", "ui-monospace, Menlo, Consolas"))


def _moved(found: re.Match[str]) -> str:
    """A text that begins with blanks begins where they end: some viewers drop them."""
    x, y, length, rest, blanks = float(found[1]), found[2], float(found[3]), found[4], found[5]
    step = len(blanks) / len(_BLANK) * _CHARACTER
    return f'x="{x + step:.1f}" {y} textLength="{length - step:.1f}"{rest}>'


def main() -> None:
    """Draw them all."""
    draw("world", "growth world --follow", view(world(), 100), 100)
    draw("top", "growth top --follow", top_view(fleet_of(world_of(afternoon()).snapshot(NOW)), 110), 110)
    draw("status", "growth status", status_view(a_report(*a_night()), 110), 110)
    draw("explain", "growth explain node", explain_view(a_power_cut(), 110), 110)
    draw("queue", "growth queue", queue(120), 120)
    draw("queue-cohorts", "growth queue", cohorts(120), 120)
    draw("memory", "growth memory", memory(100), 100)
    draw("demo", "growth demo", demo(100), 100)
    (_IMAGES / "phases.svg").write_text(phases())
    (_IMAGES / "growing.svg").write_text(growing())
    (_IMAGES / "removing.svg").write_text(removing())
    (_IMAGES / "states.svg").write_text(states())
    (_IMAGES / "failover.svg").write_text(failover())


if __name__ == "__main__":
    main()
