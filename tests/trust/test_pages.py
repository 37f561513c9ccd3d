"""docs/invariants.md says what the code checks, and where it stops."""

import re

from growth.api.settings.model import MemorySettings
from growth.run.shipped_manifests import shipped_roles
from tests.repository import page_text
from tests.trust.endings import AT_THE_END
from tests.trust.invariants import ALWAYS
from tests.trust.register import MACHINE_POINTS, REGISTER

PAGE = page_text("invariants")


def test_the_page_has_every_invariant_and_no_other() -> None:
    rows = re.findall(r"^\| (I\d+) \| ([^|]+) \| (always|at the end) \|", PAGE, re.MULTILINE)
    stated = {(one.number, one.name, "always") for one in ALWAYS}
    stated |= {(one.number, one.name, "at the end") for one in AT_THE_END}
    assert set(rows) == stated
    assert len(rows) == len(stated)


def test_the_page_has_every_point_and_no_other() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert dict(rows) == REGISTER


LEASE = {
    "patch leases": ("take lease", "renew lease", "release lease", "take shard", "renew shard", "release shard"),
    "create leases": ("create leases", "create shards"),
}
MEMORY = {MemorySettings().namespace: "memories", MemorySettings().transaction_namespace: "transactions"}
WRITES = ("create", "patch", "update", "delete")


def test_every_right_to_write_is_a_point_and_every_point_has_its_right() -> None:
    """What the role allows and no story does is a right too many, or a side effect of which nobody tried a crash."""
    named: set[str] = set()
    for role in shipped_roles():
        if role["metadata"]["name"] == "growth-hetzner":
            continue  # the stories buy from kwok; stopped after a join token was made: tests/cloud/hetzner
        rights = [
            "evict pods" if resource == "pods/eviction" else f"{verb} {resource}"
            for rule in role.get("rules", ())
            for resource in rule["resources"]
            for verb in rule["verbs"]
            if verb in WRITES
        ]
        # The provider kwok buys, fences and gives back in Growth's name; everything else it does by itself.
        is_kwok = role["metadata"]["name"] == "growth-kwok"
        launched = {"create configmaps", "patch configmaps", "delete configmaps"}
        named |= {f"kwok: {one}" for one in rights if is_kwok and one != "create configmaps"}
        # Beside that, Growth has one ConfigMap of its own.
        what = MEMORY.get(role["metadata"].get("namespace", ""), "growth-status")
        ours = [one.replace("configmaps", what) for one in rights]
        named |= {one for one in rights if one in launched} if is_kwok else {*ours}
    named = {point for one in named for point in LEASE.get(one, (one,))}
    assert named | set(MACHINE_POINTS.values()) == set(REGISTER)
