"""From a template to a pod, and how its owner is written down."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from growth_lab.simulator.api.pod_defaults import template_spec
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import Resource

# What Kubernetes encodes hashes with: no vowels, so that they never spell a word.
_HASH_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH: Final = 10


def pod_from_template(
    template: Mapping[str, Any],
    owner: Json,
    resource: Resource,
    *,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
    spec: Mapping[str, Any] | None = None,
) -> Json:
    """A pod that this owner controls. Without a name it gets a drawn one; ``spec`` is laid over the template's."""
    described: Mapping[str, Any] = part(template, "metadata")
    owned = owner["metadata"]
    meta: Json = {
        "generateName": f"{owned['name']}-",
        "namespace": owned["namespace"],
        "labels": {**part(described, "labels"), **(labels or {})},
        "ownerReferences": [controller_reference(owner, resource)],
    }
    if name is not None:
        meta["name"] = name
    if described.get("annotations"):
        meta["annotations"] = dict(described["annotations"])
    wanted = [*parts(described, "finalizers"), *finalizers]
    if wanted:
        meta["finalizers"] = wanted
    # Pods of one template share one spec object wherever they can: a cluster has many pods and few templates.
    shown = {**template["spec"], **spec} if spec else template["spec"]
    return {"metadata": meta, "spec": shown, "status": {"phase": "Pending"}}


def controller_reference(owner: Json, resource: Resource) -> Json:
    """How a thing names the one who manages it."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def template_hash(template: Mapping[str, Any]) -> str:
    """A short name for what a template means: what is left out and what is written as it is by default are the same.

    Not the letters that Kubernetes would compute, but other ones for every other template, too.
    """
    full = {**template, "spec": template_spec(part(template, "spec"))}
    text = json.dumps(full, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(_HASH_LETTERS[byte % len(_HASH_LETTERS)] for byte in digest[:_HASH_LENGTH])
