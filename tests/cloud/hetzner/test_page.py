"""docs/hetzner.md: its manifests are accepted, its settings can be read, and it names everything that there is."""

import re
from typing import Any

import msgspec
import pytest
import yaml

from growth.api.growth_kinds import NODE_POOLS
from growth.api.machine import reserved_by
from growth.api.nodepool import NodePool, NodePoolSpec
from growth.api.quantity import nano_value
from growth.api.settings_fields import setting_fields
from growth.api.settings_reading import read_settings
from growth.cli.manifests import DEFAULT_IMAGE, render
from growth.cloud.hetzner.user_data import PLACEHOLDERS
from growth.kube.errors import Invalid
from growth.sim.cluster import VirtualCluster
from growth.sim.hetzner.kubelet_arguments import kubelet_arguments
from growth.sim.virtual_loop import run_virtually
from tests.cloud.hetzner.virtual_start import ROLES, ROOT

PAGE = (ROOT / "docs" / "hetzner.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
SETTINGS = next(block for block in BLOCKS if "providers:" in block)
POOL: dict[str, Any] = next(yaml.safe_load(block) for block in BLOCKS if "kind: NodePool" in block)
WORDS = ("API_SERVER", "CA_HASH", "MACHINE_TOKEN", "MACHINE_CA", "CLUSTER_CA")
PROVIDER = ROOT / "src" / "growth" / "cloud" / "hetzner"


async def created(pool: dict[str, Any]) -> NodePool:
    return await VirtualCluster().admin().create(NODE_POOLS, pool)


def test_the_pool_of_the_page_is_accepted_as_it_is() -> None:
    pool = run_virtually(created(POOL))
    assert pool.spec == msgspec.convert(POOL["spec"], NodePoolSpec)
    assert pool.spec.machine.user_data_secret is not None


def test_a_pool_that_is_not_right_would_not_have_been_accepted() -> None:
    wrong = {**POOL, "spec": {**POOL["spec"], "limits": {"nodes": -1}}}
    with pytest.raises(Invalid):
        run_virtually(created(wrong))


def test_the_settings_of_the_page_can_be_read_and_make_manifests() -> None:
    effective = read_settings(SETTINGS)
    assert effective.settings.providers.names == ("hetzner",)
    documents = list(yaml.safe_load_all(render(effective, DEFAULT_IMAGE)))
    roles = [one["metadata"].get("namespace") for one in documents if one["metadata"]["name"] == "growth-hetzner"]
    assert roles == ["growth-system", "growth-system", "kube-system", "kube-system"]


def test_growth_may_read_the_secrets_of_the_page_and_no_others() -> None:
    named = [
        name
        for role in ROLES
        for rule in role.get("rules", ())
        if "secrets" in rule["resources"] and "get" in rule["verbs"]
        for name in rule["resourceNames"]
    ]
    assert named == re.findall(r"kubectl create secret generic (\S+)", PAGE)
    assert read_settings(SETTINGS).settings.hetzner.token_secret in named
    assert POOL["spec"]["machine"]["userDataSecret"]["name"] in named


def test_what_the_pool_reserves_is_what_the_recipes_reserve_and_the_kubelet_keeps() -> None:
    said = reserved_by(msgspec.convert(POOL["spec"], NodePoolSpec).machine.reserved)
    for recipe in (ROOT / "docs" / "recipes").iterdir():
        told = kubelet_arguments(recipe.read_text(encoding="utf-8")).reserved
        assert nano_value(said["cpu"]) == nano_value(told["cpu"])
        assert nano_value(said["memory"]) == nano_value(told["memory"]) + nano_value("100Mi")


def test_the_page_names_every_placeholder_and_every_setting() -> None:
    assert [name for name in PLACEHOLDERS if f"| `{name}`" not in PAGE and f", `{name}`" not in PAGE] == []
    words = set(re.findall(r"__GROWTH_[A-Z_]+__", PAGE))
    assert words == set(PLACEHOLDERS)
    names = [field.path for field in setting_fields() if field.path.startswith("hetzner.")]
    assert len(names) == 4
    assert [name for name in names if name not in PAGE and f"  {name.removeprefix('hetzner.')}: " not in SETTINGS] == []


def test_the_page_names_every_call_that_changes_something() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in PROVIDER.glob("*.py"))
    calls = re.findall(r'ask\(\s*"(POST|PUT|DELETE)",\s*f?"([^"]+)"', sources)
    assert len(calls) >= 4
    assert [call for call in calls if f"`{call[0]} {call[1].replace('{server_id}', '{id}')}`" not in PAGE] == []


def test_every_recipe_is_on_the_page_and_all_that_is_to_be_filled_in_is_named() -> None:
    for recipe in sorted((ROOT / "docs" / "recipes").iterdir()):
        assert f"](recipes/{recipe.name})" in PAGE
        text = recipe.read_text(encoding="utf-8")
        words = {word for word in WORDS if word in text}
        head = "\n".join(line for line in text.splitlines() if line.startswith("# "))
        assert len(words) >= 2
        assert [word for word in words if word not in head] == []
