"""Writes down what a real API server answers to all scripts: python -m lab.tests.simulator.api.scripts.record

The virtual server is compared with this record in every `make check`, and with a real server in `make test`.
"""

import asyncio
import json
from pathlib import Path

from growth.api.crd import definitions
from growth_lab.local_cluster.cluster import LocalCluster
from lab.tests.simulator.api.scripts import SCRIPTS
from lab.tests.simulator.api.scripts.player import Json
from lab.tests.simulator.api.scripts.stages import REAL_CONTROLLERS, play_for_real

RECORD = Path(__file__).with_name("answers.json")


def recorded() -> dict[str, list[Json]]:
    """What a real server once answered."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


async def _record() -> None:
    flags = {"kube-controller-manager": (f"--controllers={REAL_CONTROLLERS}",)}
    async with LocalCluster(flags=flags) as cluster:
        await cluster.apply(definitions())
        names = [definition["metadata"]["name"] for definition in definitions()]
        await cluster.kubectl("wait", "crd", "--for=condition=Established", "--timeout=30s", *names)
        lines = [
            f"{json.dumps(name)}: {json.dumps(await play_for_real(cluster.admin, script), sort_keys=True)}"
            for name, script in SCRIPTS.items()
        ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_record())
