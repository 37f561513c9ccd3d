"""What every definition owes to the people who read it and to the API server that runs its rules."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

import msgspec
import pytest

from growth.api.crd import definitions
from growth.api.duration import parse_duration
from growth.api.meta import FrozenValue
from growth.api.schema import Schema, about, schema_of

SCHEMAS: dict[str, Schema] = {
    definition["spec"]["names"]["kind"]: definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for definition in definitions()
}


def fields_of(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Every field below a schema, with its path."""
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields_of(field, f"{path}.{name}")
    for below in ("items", "additionalProperties"):
        if below in schema:
            yield from fields_of(schema[below], f"{path}[]")


FIELDS = [(path, field) for kind, schema in SCHEMAS.items() for path, field in fields_of(schema, kind)]


def test_every_field_says_what_it_means() -> None:
    silent = [path for path, field in FIELDS if not field.get("description") and not path.endswith(".metadata")]
    assert silent == []


def test_every_text_list_and_map_has_an_end_because_cel_costs_are_estimated_from_it() -> None:
    bounds = {"string": ("maxLength", "format", "enum"), "array": ("maxItems",)}
    endless = [
        path
        for path, field in FIELDS
        if path.split(".")[1] in {"spec", "status"}
        and not any(bound in field for bound in bounds.get(field.get("type", ""), (*field,)))
    ]
    assert endless == []


def test_every_rule_comes_with_a_sentence() -> None:
    rules = [rule for _, field in FIELDS for rule in field.get("x-kubernetes-validations", [])]
    rules += [rule for schema in SCHEMAS.values() for rule in schema.get("x-kubernetes-validations", [])]
    assert len(rules) > 20
    assert all(len(rule["message"].split()) > 3 for rule in rules)


def test_every_default_duration_is_a_duration() -> None:
    scale_down = SCHEMAS["NodePool"]["properties"]["spec"]["properties"]["scaleDown"]["properties"]
    defaults = {
        name: field["default"] for name, field in scale_down.items() if "default" in field and field["type"] == "string"
    }
    assert {name: parse_duration(text) for name, text in defaults.items()} == {
        "emptyAfter": timedelta(minutes=10),
        "unreadyAfter": timedelta(minutes=20),
        "delayAfterScaleUp": timedelta(minutes=10),
    }


def test_a_status_is_never_filled_with_counts_that_nobody_took() -> None:
    in_status = {path for path, field in FIELDS if ".status." in path and "default" in field}
    assert in_status == {
        "NodePool.status.conditions[].status",
        "NodeRequest.status.phase",
        "NodeRequest.status.conditions[].status",
        "NodeRemovalRequest.status.phase",
        "NodeMove.status.phase",
    }


def test_a_type_without_a_place_in_a_custom_resource_is_refused_at_once() -> None:
    class Price(FrozenValue, frozen=True):
        """A price."""

        amount: Annotated[float, msgspec.Meta(description="Money in a float.")] = 0.5

    class Mixed(FrozenValue, frozen=True):
        """Two things at once."""

        either: Annotated[int | bool, about("One or the other.")] = 0

    for kind in (Price, Mixed):
        with pytest.raises(TypeError, match="has no place in a custom resource"):
            schema_of(kind)


def test_the_definitions_name_group_scope_short_names_category_and_status() -> None:
    seen: dict[str, Any] = {}
    for definition in definitions():
        spec = definition["spec"]
        assert (spec["group"], spec["scope"]) == ("growth.dev", "Cluster")
        assert spec["names"]["categories"] == ["growth"]
        assert spec["versions"][0]["subresources"] == {"status": {}}
        seen[definition["metadata"]["name"]] = spec["names"]["shortNames"]
    assert seen == {
        "nodepools.growth.dev": ["np"],
        "noderequests.growth.dev": ["nreq"],
        "noderemovalrequests.growth.dev": ["nrem"],
        "nodemoves.growth.dev": ["nmove"],
    }
