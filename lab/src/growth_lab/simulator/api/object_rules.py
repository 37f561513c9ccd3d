"""Rules about metadata that hold for every kind, and the few about plain kinds."""

import re
from typing import Any, Final

from growth.api.labels import is_label_key, is_label_value
from growth_lab.simulator.api.error_responses import Cause, not_allowed, required, wrong
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CONFIG_MAPS, NODES, Resource

_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME: Final = re.compile(_SUBDOMAIN)
_NOT_A_NAME: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
NOT_A_KEY: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_NOT_A_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_CONFIG_KEY: Final = re.compile("[-._a-zA-Z0-9]+")
_NOT_A_CONFIG_KEY: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_LONGEST_NAME: Final = 253
_STANDARD_FINALIZERS: Final = ("orphan", "foregroundDeletion", "kubernetes")
_FIXED: Final = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")


def errors_of_meta(meta: Json) -> list[Cause]:
    """What is wrong with the metadata of any object."""
    found: list[Cause] = []
    if not meta.get("name") and not meta.get("generateName"):
        found.append(required("metadata.name", "name or generateName is required"))
    for field in ("generateName", "name"):
        text = meta.get(field, "")
        base = text.rstrip("-.") if field == "generateName" else text
        if text and (len(text) > _LONGEST_NAME or not _NAME.fullmatch(base)):
            found.append(wrong(f"metadata.{field}", text, _NOT_A_NAME))
    for key, value in part(meta, "labels").items():
        if not is_label_key(key):
            found.append(wrong("metadata.labels", key, NOT_A_KEY))
        if not is_label_value(value):
            found.append(wrong("metadata.labels", value, _NOT_A_VALUE))
    found += [
        wrong("metadata.annotations", key, NOT_A_KEY)
        for key in part(meta, "annotations")
        if not is_label_key(key.lower())
    ]
    return (
        found + _errors_of_owners(parts(meta, "ownerReferences")) + _errors_of_finalizers(meta.get("finalizers") or ())
    )


def _errors_of_owners(owners: list[Json]) -> list[Cause]:
    found: list[Cause] = []
    for owner in owners:
        version = owner.get("apiVersion", "")
        if not version or version.count("/") > 1:
            found.append(wrong("metadata.ownerReferences.apiVersion", version, "version must not be empty"))
        found += [
            wrong(f"metadata.ownerReferences.{field}", "", "must not be empty")
            for field in ("kind", "name", "uid")
            if not owner.get(field)
        ]
    return found


def _errors_of_finalizers(finalizers: Any) -> list[Cause]:  # noqa: ANN401 - a list of texts, if all is well
    found: list[Cause] = []
    for index, finalizer in enumerate(finalizers):
        if not is_label_key(finalizer):
            found.append(wrong("metadata.finalizers", finalizer, NOT_A_KEY))
        elif "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(wrong(f"metadata.finalizers[{index}]", finalizer, why))
    return found


def errors_of_meta_change(before: Json, after: Json) -> list[Cause]:
    """What may not be changed in any object's metadata."""
    found = [
        wrong(f"metadata.{field}", after.get(field), "field is immutable")
        for field in _FIXED
        if after.get(field) != before.get(field)
    ]
    if "deletionTimestamp" in before:
        new = [one for one in after.get("finalizers") or () if one not in (before.get("finalizers") or ())]
        if new:
            words = ", ".join(f'"{one}"' for one in new)
            why = "no new finalizers can be added if the object is being deleted, found new finalizers"
            found.append(not_allowed("metadata.finalizers", f"{why} []string{{{words}}}"))
    return found


def errors_of_plain(resource: Resource, thing: Json) -> list[Cause]:
    """What is wrong with an object of a kind that needs no file of its own."""
    if resource is CONFIG_MAPS:
        keys = [*part(thing, "data"), *part(thing, "binaryData")]
        return [wrong(f"data[{key}]", key, _NOT_A_CONFIG_KEY) for key in keys if not _CONFIG_KEY.fullmatch(key)]
    return []


def errors_of_plain_change(resource: Resource, before: Json, after: Json) -> list[Cause]:
    """What may not be changed in such an object."""
    machine = part(before, "spec").get("providerID", "")
    if resource is NODES and machine and part(after, "spec").get("providerID", "") != machine:
        return [not_allowed("spec.providerID", 'node updates may not change providerID except from "" to valid')]
    return []
