"""Every rule of our definitions has its check."""

from collections.abc import Iterator
from typing import Any

from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.queue.kinds import QUEUE_KINDS
from growth_lab.simulator.api.cel_rules import CHECKS


def rules_in(schema: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations", ()):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield rule["rule"]
        for inner in schema.values():  # pyright: ignore[reportUnknownVariableType]
            yield from rules_in(inner)
    elif isinstance(schema, list):
        for inner in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from rules_in(inner)


def test_every_rule_is_translated_and_no_translation_is_without_a_rule() -> None:
    rules = set(rules_in(definitions((*OWN_KINDS, *QUEUE_KINDS))))
    assert len(rules) > 15
    assert sorted(rules - set(CHECKS)) == []
    assert sorted(set(CHECKS) - rules) == []
