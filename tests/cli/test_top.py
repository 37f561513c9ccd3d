"""``growth top``: what it prints, and the one sentence that it ends with when it cannot."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.standin import running
from growth.cli.main import main
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["top", *arguments])


@pytest.fixture(scope="module")
def kubeconfig() -> Generator[str]:
    """Three nodes of a pool that nobody has created, and thirty pods."""
    with running(nodes=3, pods=30) as path:
        yield path


def test_it_shows_machines_even_if_nobody_looks_after_them(kubeconfig: str) -> None:
    result = run("--kubeconfig", kubeconfig)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "1 pool, 3 machines   nobody waits"
    assert "there is no NodePool of this name" in result.stdout
    assert result.stdout.count(" ready ") == 4  # the pool's count, and each node


def test_it_prints_the_same_value_as_json(kubeconfig: str) -> None:
    told = json.loads(run("--kubeconfig", kubeconfig, "--output", "json").stdout)
    assert told["pools"][0]["machines"] == {"ready": 3}
    assert [one["standing"] for one in told["machines"]] == ["ready"] * 3
    assert sum(one["work"] for one in told["machines"]) == 30
    assert told["cost_per_hour"] is None


def test_a_pool_that_is_not_there_is_refused_with_the_closest_one(kubeconfig: str) -> None:
    result = run("--kubeconfig", kubeconfig, "--pool", "defualt")
    assert is_one_sentence(result, "--pool defualt", "the closest is 'default'", "expected one of default")


def test_a_pool_can_be_looked_at_alone(kubeconfig: str) -> None:
    told = json.loads(run("--kubeconfig", kubeconfig, "--pool", "default", "--output", "json").stdout)
    assert [pool["name"] for pool in told["pools"]] == ["default"]


def test_following_is_for_people() -> None:
    assert is_one_sentence(run("--follow", "--output", "json"), "--follow shows text", "leave out --output json")


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port()))
    assert is_one_sentence(result, "unreachable", "Connection refused")
