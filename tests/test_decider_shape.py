"""All deciders have one shape, so that a reader of one finds the way in the others."""

import ast
from pathlib import Path

import msgspec
import pytest

from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability
from growth.decide.pipeline import CAPABILITIES
from tests.repository import SOURCES

DECIDE = SOURCES / "decide"
DECIDERS = sorted(path.parent for path in DECIDE.glob("*/decider.py"))
WITHOUT_STEPS = {"node_memory"}
"""It walks through pages, and each page through steps of its own."""
MOST_LINES = 175


def names_in(path: Path) -> set[str]:
    """What a module defines."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case _:
                pass
    return found


def test_there_is_a_decider_for_each_capability() -> None:
    assert len(DECIDERS) == len(CAPABILITIES) == 9


@pytest.mark.parametrize("package", DECIDERS, ids=lambda path: path.name)
def test_decider_has_the_shape_of_all(package: Path) -> None:
    decider = names_in(package / "decider.py")
    assert {"decide", "CAPABILITY"} <= decider
    assert ("STEPS" in decider) is (package.name not in WITHOUT_STEPS)
    assert len((package / "decider.py").read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    assert any(name.endswith("Carry") for name in names_in(package / "carry.py"))
    assert any(name.endswith("Context") for name in names_in(package / "context.py"))


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.name)
def test_metrics_stand_beside_the_decider(capability: AnyCapability) -> None:
    package = next(one for one in DECIDERS if f"growth.decide.{one.name}.decider" == capability.decide.__module__)
    assert bool(capability.metrics) is (package / "metrics.py").exists()


def test_capability_has_a_section_of_the_settings_that_no_other_has() -> None:
    sections = [one.settings for one in CAPABILITIES if one.settings is not None]
    assert len(set(sections)) == len(sections) == 8
    assert set(sections) <= {type(section) for section in msgspec.structs.asdict(Settings()).values()}


def test_no_decider_names_a_state_of_nodes_outside_of_the_registry() -> None:
    """Consumers ask a unit what it is, so that a new state is a change of one package."""
    found = [
        path.relative_to(SOURCES).as_posix()
        for path in sorted(SOURCES.rglob("*.py"))
        if "NodeState" in path.read_text(encoding="utf-8")
        and not path.relative_to(SOURCES).as_posix().startswith(("decide/registry/", "decide/facts/"))
    ]
    assert found == []
