"""How long things take."""

from growth.api.meta import FrozenValue


class Timings(FrozenValue, frozen=True):
    """Seconds. A server runs ``create`` and ``start`` after it was asked for."""

    create_seconds: float = 2.0
    start_seconds: float = 3.0
    stop_seconds: float = 1.0
    shutdown_seconds: float = 3.0
    """From the message to the system until it is off."""

    delete_seconds: float = 1.0
    other_seconds: float = 0.5
    """Attaching, moving, protecting."""

    snapshot_seconds: float = 5.0


def boots_in(seconds: float) -> Timings:
    """A server runs so long after it was asked for; everything else is faster in the same measure."""
    usual = Timings()
    share = seconds / (usual.create_seconds + usual.start_seconds)
    return Timings(
        create_seconds=usual.create_seconds * share,
        start_seconds=usual.start_seconds * share,
        stop_seconds=usual.stop_seconds * share,
        shutdown_seconds=usual.shutdown_seconds * share,
        delete_seconds=usual.delete_seconds * share,
        other_seconds=usual.other_seconds * share,
        snapshot_seconds=usual.snapshot_seconds * share,
    )
