"""What Growth says while a run is played again, in the run's own time."""

import asyncio
import logging
import sys
from typing import Final

_WIDTH: Final = 300


class _Timed(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        try:
            at = asyncio.get_running_loop().time()
        except RuntimeError:
            at = 0.0
        facts: dict[str, str] = getattr(record, "facts", {})
        shown = " ".join(str(facts[key]) for key in ("action", "hold", "subject", "result") if key in facts)
        return f"{at:8.3f}      {shown}: {record.getMessage()}"[:_WIDTH]


def show_logs() -> None:
    """From now on, on standard output, between the lines of the run."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Timed())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
