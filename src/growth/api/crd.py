"""The CustomResourceDefinitions of our kinds, made from their classes and never written by hand."""

from collections.abc import Iterable
from typing import Any

from growth.api.growth_kinds import CATEGORY, OWN_KINDS, Column, OwnKind
from growth.api.kinds import Kind
from growth.api.schema import Schema, schema_of


def definitions(kinds: Iterable[OwnKind] = OWN_KINDS) -> list[Schema]:
    """Every definition, ready to be applied."""
    return [_definition(own) for own in kinds]


def _definition(own: OwnKind) -> Schema:
    kind = own.kind
    status: Schema = {"subresources": {"status": {}}} if own.has_status else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": list(own.short_names),
                "categories": [CATEGORY],
            },
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    **status,
                    "additionalPrinterColumns": [_column(column) for column in own.columns],
                    "schema": {"openAPIV3Schema": _object(kind)},
                }
            ],
        },
    }


def _object(kind: Kind[Any]) -> Schema:
    """The class's schema and the three fields that every object has."""
    schema = schema_of(kind.type)
    texts = {
        "apiVersion": {"type": "string", "description": f"Version of this schema, {kind.api_version}."},
        "kind": {"type": "string", "description": "Kind of this object."},
    }
    return schema | {"properties": texts | schema["properties"]}


def _column(column: Column) -> Schema:
    wide = {"priority": 1} if column.is_wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **wide}
