"""Logs: JSON for machines, a line for people."""

import io
import json
import logging
from collections.abc import Generator

import pytest

from growth.run.logs import JsonLines, PlainLines, set_up_logs


@pytest.fixture(autouse=True)
def logging_as_before() -> Generator[None]:
    """``set_up_logs`` is for a process; here that is the tests' own."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def a_record(level: int = logging.INFO, **extra: object) -> logging.LogRecord:
    logger = logging.getLogger("growth.act.executor")
    record = logger.makeRecord(logger.name, level, "file", 1, "%s waits", ("a pod",), None, extra=extra)
    record.created = 1767268800.125
    return record


def test_a_line_for_machines_has_its_facts_as_fields() -> None:
    line = JsonLines().format(a_record(facts={"action": "CreateObject", "seconds": 1.5}))
    assert json.loads(line) == {
        "at": "2026-01-01T12:00:00.125Z",
        "level": "info",
        "from": "growth.act.executor",
        "message": "a pod waits",
        "action": "CreateObject",
        "seconds": 1.5,
    }


def test_a_line_for_people_has_them_behind_it() -> None:
    facts = {"subject": "Pod shop/web", "result": "done", "error": ""}
    assert PlainLines().format(a_record(facts=facts)) == (
        '12:00:00.125 a pod waits subject="Pod shop/web" result=done error=""'
    )
    assert PlainLines().format(a_record(logging.WARNING)) == "12:00:00.125 WARNING a pod waits"


def test_a_traceback_does_not_break_the_line_for_machines() -> None:
    stream = io.StringIO()
    set_up_logs(stream)
    try:
        float("mine")
    except ValueError:
        logging.getLogger("growth").exception("it failed")
    (line,) = stream.getvalue().splitlines()
    assert "could not convert string to float: 'mine'" in json.loads(line)["traceback"]


def test_only_our_own_news_is_told() -> None:
    stream = io.StringIO()
    set_up_logs(stream)
    logging.getLogger("aiohttp.access").info("a request")
    logging.getLogger("growth.run").debug("a detail")
    logging.getLogger("growth.run").info("news")
    assert len(stream.getvalue().splitlines()) == 1
