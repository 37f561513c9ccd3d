"""What goes wrong, class by class. Each run draws some classes, and how bad they are."""

import random
from typing import Final

from growth_lab.simulator.faults import Fault
from tests.trust.chaos.disks import holders
from tests.trust.chaos.lives import DYING, Act
from tests.trust.chaos.stage import Stage
from tests.trust.interruption import Side

# A share of the requests of Growth that fail so; a restart hits everybody, for seconds.
_RATES: Final = (0.003, 0.01, 0.05)
# Watches are opened once and last: few requests, and many go wrong.
_SHARES: Final = {Fault.RESTART: 0.001, Fault.CUT: 0.3, Fault.SLOW_WATCH: 0.3, Fault.SILENT: 0.05}

_OF_SALES: Final = (
    "noStock",
    "quota=0",
    "quota=3",
    "neverBoots",
    "neverRegisters",
    "neverReady",
    "slowBoot=6s",
    "slowBoot=20s",
    "createTimesOut",
    "listFails",
    "deleteFails",
    "vanishes=4s",
    "powerOff=6s",
    "noStock, listFails",
)
_OF_MACHINES: Final = (
    "powerOff",
    "neverReady",
    "vanishes",
    "deleteFails",
    "listFails",
    "deleteFails, neverReady",
)
_SILENCES: Final = ("neverReady", "neverReady", "neverReady", "powerOff", "listFails, neverReady")
# None of them means one.
_SHARES_OF_NODES: Final = (0.0, 0.5, 0.8, 1.0, 1.0)
_JUMPS: Final = (-7200.0, -600.0, -20.0, -3.0, 3.0, 20.0, 600.0, 7200.0)
_PAUSES: Final = (1.0, 3.0, 6.0, 15.0)


def drawn_rates(chance: random.Random) -> dict[Fault, float]:
    """How often which request of Growth fails."""
    kinds = chance.sample(list(Fault), chance.choice([1, 2, 4, len(Fault)]))
    share = chance.choice(_RATES)
    if chance.random() < 0.3:
        kinds = [Fault.SLOW_WATCH, *(one for one in kinds if one is not Fault.SLOW_WATCH)]
    return {one: _SHARES.get(one, share) for one in kinds}


async def the_server_fails(stage: Stage) -> None:
    """At random, from now on, or not any more; a real one is restarted."""
    if stage.faults is not None:
        stage.faults.rates = drawn_rates(stage.chance) if stage.chance.random() < 0.7 else {}
        stage.say(f"the API server: {', '.join(one.name for one in stage.faults.rates) or 'nothing'} fails")
    elif stage.restart_server is not None and stage.chance.random() < 0.1:
        stage.say("the API server is restarted")
        await stage.restart_server()


async def the_provider_fails(stage: Stage) -> None:
    """What it sells is not there, does not work, or does not come; or it is well again."""
    offered = [*_OF_SALES, *(["smaller=50%"] * 5 if stage.world.is_sold_less else [])]
    if stage.terms.acts and stage.apart.random() < 0.5:
        await _answers_change(stage)
        return
    faults = stage.chance.choice(offered) if stage.chance.random() < 0.6 else ""
    stage.say(f"the provider: {faults or 'all is well'}")
    stage.fleet.sell(faults)


async def _answers_change(stage: Stage) -> None:
    answers = stage.fleet.answers
    answers.failing = stage.apart.choice([0.0, 0.3, 1.0])
    answers.latest_seconds = stage.apart.choice([0.0, 0.0, 0.5, 3.0, 8.0])
    stage.say(f"the provider fails to answer {answers.failing:.0%}, and takes {answers.latest_seconds:g} s at most")


async def a_machine_fails(stage: Stage) -> None:
    """One that runs; or it is mended."""
    if name := stage.one_of(sorted(stage.picture.machines)):
        dying = DYING if stage.terms.acts else ()
        faults = [*_OF_MACHINES, *dying, *(["listEmpty"] * 3 if stage.world.is_lied_to else [])]
        await stage.hurt(name, stage.chance.choice(faults) if stage.chance.random() < 0.7 else "")


async def nodes_fall_silent(stage: Stage) -> None:
    """One or many at once: nobody can reach them, or their machines are off; or those that were hurt come back."""
    machines = stage.picture.machines.items()
    hurt = sorted(name for name, one in machines if one.behaviour.faults or one.is_fenced)
    if hurt and stage.chance.random() < 0.35:
        for name in hurt if stage.chance.random() < 0.7 else [stage.chance.choice(hurt)]:
            await stage.hurt(name, "")
        return
    running = sorted(name for name in stage.picture.machines if name in stage.picture.nodes and name not in hurt)
    share, faults = stage.chance.choice(_SHARES_OF_NODES), stage.chance.choice(_SILENCES)
    if stage.terms.acts and stage.apart.random() < 0.5:
        # One database dies, and what follows is not hidden by a broken cluster.
        share, faults = 0.0, stage.apart.choice(DYING)
        running = [name for name in running if name in holders(stage)] or running
    for name in stage.chance.sample(running, min(len(running), max(1, round(share * len(running))))):
        await stage.hurt(name, faults)


async def a_clock_jumps(stage: Stage) -> None:
    """The wall clock of one replica is set, or set right."""
    replica = stage.chance.choice(stage.fleet.replicas)
    if stage.chance.random() < 0.3:
        replica.set_right()
    else:
        replica.jump(stage.chance.choice(_JUMPS))


async def growth_fails(stage: Stage) -> None:
    """A replica is killed, now or at one of its next writes, or stands still, or goes on."""
    replica = stage.chance.choice(stage.fleet.replicas)
    match stage.chance.choice(["kill", "write", "write", "pause", "pause at a write", "resume"]):
        case "kill":
            replica.kill(stage.chance.choice([0.0, 0.0, 2.0, 8.0]))
        case "write":
            replica.kill_at(stage.chance.randint(1, 12), stage.chance.choice(list(Side)))
        case "pause at a write":
            for one in stage.fleet.replicas:  # only the leader writes, whoever that is
                one.pause_at(stage.chance.randint(1, 4), stage.chance.choice(_PAUSES))
        case "pause":
            replica.pause(stage.chance.choice(_PAUSES))
        case _:
            replica.resume()


TROUBLES: Final[dict[str, Act]] = {
    "server": the_server_fails,
    "provider": the_provider_fails,
    "machines": a_machine_fails,
    "nodes": nodes_fall_silent,
    "clock": a_clock_jumps,
    "growth": growth_fails,
}
"""The classes of faults, by name."""


def drawn_classes(chance: random.Random) -> list[str]:
    """Which of them happen in a run; in some, nothing but people."""
    return [name for name in TROUBLES if chance.random() < 0.5]
