"""Waiting for what another process does."""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Until the condition holds; fails after twenty seconds with the sentence of what did not happen."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen that {what}"
        time.sleep(0.02)
