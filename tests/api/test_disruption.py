"""Budgets as people write them: what is refused, and in which words."""

import re

import msgspec
import pytest
from hypothesis import given

from growth.api.disruption import DisruptionBudget
from growth.api.schema import Schema, schema_of
from growth.decide.policy.disruption_budgets import faults
from tests.decide.consolidation.crons import Drawn, schedules

FIELDS: dict[str, Schema] = schema_of(DisruptionBudget)["properties"]


def refusals(field: str, value: str) -> list[str]:
    """The sentences of the field's rules about texts that this one breaks; ``$`` is the very end for the API server."""
    rules = FIELDS[field]["x-kubernetes-validations"]
    patterns = [
        (re.search(r"^(?:string\(self\)|self)\.matches\('(.*)'\)$", one["rule"]), one["message"]) for one in rules
    ]
    return [message for pattern, message in patterns if pattern and not re.fullmatch(pattern[1], value)]


def test_the_least_that_one_can_say() -> None:
    budget = msgspec.convert({"nodes": "10%"}, DisruptionBudget)
    assert budget == DisruptionBudget(nodes="10%", reasons=(), schedule=None, time_zone="UTC", duration=None)
    assert faults(budget) == ()


def test_all_that_one_can_say_comes_back_as_it_was() -> None:
    said = {
        "nodes": 0,
        "reasons": ["Cheaper", "Drifted", "Expired", "Deprecated", "Requested"],
        "schedule": "0 9 * * mon-fri",
        "timeZone": "Europe/Berlin",
        "duration": "8h",
    }
    assert msgspec.json.decode(msgspec.json.encode(msgspec.convert(said, DisruptionBudget))) == said


def test_every_field_says_what_it_means_and_has_an_end() -> None:
    assert [name for name, field in FIELDS.items() if not field.get("description")] == []
    assert {name: field.get("maxLength", field.get("maxItems")) for name, field in FIELDS.items()} == {
        "nodes": None,  # a number or a text: the pool's condition says what is wrong
        "reasons": 5,
        "schedule": 128,
        "timeZone": 64,
        "duration": 32,
    }
    assert FIELDS["timeZone"]["default"] == "UTC"


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("schedule", "", "must be five fields of cron"),
        ("schedule", "0 9 * *", "must be five fields of cron"),
        ("schedule", "0 9 * * * *", "must be five fields of cron"),
        ("schedule", "@every 1h", "must be five fields of cron"),
        ("schedule", "TZ=UTC 9 * * *", "must be five fields of cron"),
        ("schedule", "0 9 * * mon\n", "must be five fields of cron"),
        ("timeZone", "", "must be the IANA name of a time zone"),
        ("timeZone", "../../etc/passwd", "must be the IANA name of a time zone"),
        ("timeZone", "/UTC", "must be the IANA name of a time zone"),
        ("timeZone", "+01:00", "must be the IANA name of a time zone"),
        ("duration", "8 hours", "must be a duration such as 90s, 10m or 1h30m"),
        ("duration", "1d", "must be a duration such as 90s, 10m or 1h30m"),
    ],
)
def test_a_bad_text_is_refused_in_words(field: str, value: str, sentence: str) -> None:
    assert [told.startswith(sentence) for told in refusals(field, value)] == [True]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schedule", "@daily"),
        ("schedule", "*/15 0-6,22-23 1 jan-mar/2 FRI"),
        ("timeZone", "America/Argentina/Buenos_Aires"),
        ("timeZone", "Etc/GMT+12"),
        ("timeZone", "EST5EDT"),
        ("duration", "1h30m"),
    ],
)
def test_a_good_text_is_not(field: str, value: str) -> None:
    assert refusals(field, value) == []


@given(schedules())
def test_the_rule_lets_through_whatever_is_understood(drawn: Drawn) -> None:
    assert refusals("schedule", drawn.text) == []


def test_an_unknown_reason_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"Invalid enum value 'Cheap' - at `\$\.reasons\[0\]`"):
        msgspec.convert({"nodes": 1, "reasons": ["Cheap"]}, DisruptionBudget)
    assert FIELDS["reasons"]["items"]["enum"] == sorted(("Cheaper", "Drifted", "Expired", "Deprecated", "Requested"))


def test_half_a_time_is_refused_in_words() -> None:
    rules = schema_of(DisruptionBudget)["x-kubernetes-validations"]
    assert [rule["message"].partition(":")[0] for rule in rules] == ["schedule and duration go together"]
