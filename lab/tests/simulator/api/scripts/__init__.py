"""Small scripts of requests whose answers must be the same on the virtual and on the real API server."""

from lab.tests.simulator.api.scripts import (
    concurrency,
    deeper,
    events,
    kinds,
    own_kinds,
    pod_life,
    pod_updates,
    reading,
    watching,
    writing,
)
from lab.tests.simulator.api.scripts.player import Script

SCRIPTS: dict[str, Script] = {
    **reading.SCRIPTS,
    **writing.SCRIPTS,
    **concurrency.SCRIPTS,
    **watching.SCRIPTS,
    **pod_life.SCRIPTS,
    **pod_updates.SCRIPTS,
    **own_kinds.SCRIPTS,
    **kinds.SCRIPTS,
    **deeper.SCRIPTS,
    **events.SCRIPTS,
}
