"""Logs: one line per decision, for people in a terminal, as JSON for everything else.

A line says what and why; the facts that a search would look for stand in fields of their own. Who logs passes them as
``extra={"facts": {...}}``.
"""

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, TextIO, cast

import msgspec

# Not ours, and talkative below this.
_QUIET: Final = ("aiohttp", "asyncio")


def set_up_logs(stream: TextIO) -> None:
    """Send the process's log to this stream. Called once, by the command that runs for long."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PlainLines() if stream.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


@contextmanager
def silent_logs() -> Generator[None]:
    """Inside, nothing of Growth is logged: for those who show what happens themselves."""
    logger, handler = logging.getLogger("growth"), logging.NullHandler()
    was, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = was


class JsonLines(logging.Formatter):
    """One JSON object per line: at, level, from, message, then the facts."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; a traceback becomes a field, so that it stays one line."""
        line: dict[str, Any] = {
            "at": _instant(record),
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class PlainLines(logging.Formatter):
    """A line for a person: time, level if it is not the usual one, message, then the facts as key=value."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the traceback below it."""
        level = f"{record.levelname} " if record.levelno != logging.INFO else ""
        facts = "".join(f" {key}={_word(value)}" for key, value in _facts(record).items())
        line = f"{_instant(record)[11:23]} {level}{record.getMessage()}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _instant(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _facts(record: logging.LogRecord) -> Mapping[str, object]:
    return cast("Mapping[str, object]", record.__dict__.get("facts", {}))


def _word(value: object) -> str:
    text = str(value)
    return f'"{text}"' if " " in text or not text else text
