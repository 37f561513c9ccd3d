"""Growth says that it made a mistake: a decider that raised, an action that made no sense. No run is well with that."""

import logging
from collections.abc import Generator
from contextlib import contextmanager


class Mistakes(logging.Handler):
    """Hears of them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.observed: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Note it."""
        why = f": {record.exc_info[1]!r}" if record.exc_info else ""
        self.observed.append(f"Growth made a mistake: {record.getMessage()}{why}")

    @contextmanager
    def listening(self) -> Generator[None]:
        """As long as this lasts."""
        logger = logging.getLogger("growth")
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)


def be_quiet() -> None:
    """What goes wrong on purpose fills pages; mistakes are told with the run in which they were made."""
    logging.disable(logging.WARNING)
    logging.getLogger().addHandler(logging.NullHandler())
