"""A database whose machine loses its power, played on a virtual cluster, for the picture of its node's story."""

from typing import Final

import msgspec

from growth.api.offering import POOL
from growth.api.out_of_service import out_of_service_taint
from growth.cli.explain import read_report
from growth.cli.explain_failover import NodeReport
from growth.run.logs import silent_logs
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.workloads import STATEFUL_SETS

_ACTING: Final = msgspec.structs.replace(QUICK, failover=msgspec.structs.replace(QUICK.failover, mode="act"))


def a_power_cut() -> NodeReport:
    """What is to be said about the node when its machine has power again and the node is back."""
    told: list[NodeReport] = []

    async def tell(play: Play) -> None:
        async with growing(play, settings=_ACTING) as growth:
            await a_pool(play, serverTypes=[{"name": "small", "min": 2}])
            await play.create(STATEFUL_SETS, _database(play))
            await play.until(play.pod_is("db-0"), "the database runs")
            node = play.trace.pods["db-0"].node_name
            await growth.hurt(node, "powerOff")
            await play.until(lambda: out_of_service_taint(play.trace.nodes[node]), "its node is out of service")
            await play.until(play.pod_is("db-0"), "the database runs again")
            await play.settled(3.0)
            await growth.hurt(node, "")
            await play.until(lambda: not out_of_service_taint(play.trace.nodes[node]), "the node is back in service")
            told.append(await read_report(play.client, QUICK, node, play.now))

    with silent_logs():
        play_virtually(tell, alone=True)
    return told[0]


def _database(play: Play) -> dict[str, object]:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": play.pod_spec("500m", nodeSelector={POOL: "default"})}
    spec = {"replicas": 1, "serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "db"}, "spec": spec}
