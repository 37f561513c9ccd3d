"""``growth cluster`` without a control plane: what it says and how it exits when there is nothing to do or to find."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from growth.cli.main import main
from growth_lab.local_cluster import process, state
from growth_lab.local_cluster.components import COMPONENTS
from growth_lab.local_cluster.layout import layout_of
from growth_lab.local_cluster.state import Record


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"GROWTH_STATE": str(tmp_path), "GROWTH_CACHE": str(tmp_path / "cache")}


def growth(home: dict[str, str], *arguments: str) -> Result:
    return CliRunner().invoke(main, ["cluster", *arguments], env=home)


def an_abandoned_cluster(name: str, home: dict[str, str]) -> None:
    layout = layout_of(name, home)
    state.claim(layout)
    layout.logs.mkdir()
    layout.log("etcd").write_text("one\ntwo\nthree\n")
    gone = process.Process(pid=2**22 - 1, start_ticks=1)
    state.save(layout, Record(name=name, created_at="2026-01-01T00:00:00+00:00", starter=gone, dies_with_starter=False))


def test_no_cluster_is_an_empty_list(home: dict[str, str]) -> None:
    assert growth(home, "list").output == "no clusters; `growth cluster up` starts one\n"
    assert json.loads(growth(home, "list", "--output", "json").output) == []


@pytest.mark.parametrize("command", [("status",), ("down",), ("kubeconfig",), ("logs", "etcd")])
def test_an_unknown_cluster_is_bad_input_and_the_known_ones_are_named(
    home: dict[str, str], command: tuple[str, ...]
) -> None:
    an_abandoned_cluster("known", home)
    result = growth(home, *command, "--name", "unknown")
    assert result.exit_code == 2
    assert result.output == "Error: no cluster is named 'unknown'; there are: known\n"


def test_an_unknown_component_is_bad_input_and_the_known_ones_are_named(home: dict[str, str]) -> None:
    an_abandoned_cluster("known", home)
    result = growth(home, "logs", "kubelet", "--name", "known")
    assert result.exit_code == 2
    assert result.output == f"Error: no component is named 'kubelet'; there are: {', '.join(COMPONENTS)}\n"


def test_a_name_that_cannot_be_one_is_bad_input(home: dict[str, str]) -> None:
    result = growth(home, "up", "--name", "../escape")
    assert result.exit_code == 2
    assert result.output.startswith("Error: '../escape' cannot name a cluster")


def test_a_taken_name_is_a_failure_that_says_what_to_do(home: dict[str, str], tmp_path: Path) -> None:
    an_abandoned_cluster("taken", home)
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in (*COMPONENTS, "kubectl"):
        (assets / name).touch(mode=0o700)
    result = growth({**home, "KUBEBUILDER_ASSETS": str(assets)}, "up", "--name", "taken")
    assert result.exit_code == 1
    assert "`growth cluster down --name taken` ends it" in result.output


def test_an_abandoned_cluster_is_listed_and_ended(home: dict[str, str]) -> None:
    an_abandoned_cluster("orphan", home)
    assert [found["condition"] for found in json.loads(growth(home, "list", "--output", "json").output)] == [
        "abandoned"
    ]
    assert growth(home, "status", "--name", "orphan").exit_code == 1
    assert growth(home, "kubeconfig", "--name", "orphan").exit_code == 1
    assert growth(home, "down", "--all").output == "cluster orphan is gone (0 processes ended)\n"
    assert growth(home, "down", "--all").output == "there is no cluster to end\n"


def test_down_all_leaves_the_cluster_of_a_running_test_alone(home: dict[str, str]) -> None:
    layout = layout_of("busy", home)
    state.claim(layout)
    ourselves = process.this_process()
    state.save(
        layout, Record(name="busy", created_at="2026-01-01T00:00:00+00:00", starter=ourselves, dies_with_starter=True)
    )
    result = growth(home, "down", "--all")
    assert f"left busy: process {ourselves.pid} uses it (end it with --name busy)" in result.output
    assert state.names(home) == ["busy"]


def test_logs_can_be_cut_to_their_end(home: dict[str, str]) -> None:
    an_abandoned_cluster("one", home)
    assert growth(home, "logs", "etcd", "--name", "one").output == "one\ntwo\nthree\n"
    assert growth(home, "logs", "etcd", "--name", "one", "--tail", "2").output == "two\nthree\n"
    assert growth(home, "logs", "etcd", "--name", "one", "--tail", "9").output == "one\ntwo\nthree\n"
    assert growth(home, "logs", "kwok", "--name", "one").output == ""


def test_followed_logs_go_on_until_the_cluster_ends(home: dict[str, str]) -> None:
    an_abandoned_cluster("one", home)
    layout = layout_of("one", home)
    command = (sys.executable, "-c", "from growth.cli.main import main; main()", "cluster", "logs", "etcd")
    options = ("--name", "one", "--tail", "1", "--follow")
    environment = {**os.environ, **home}
    with subprocess.Popen((*command, *options), env=environment, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "three\n"
        with layout.log("etcd").open("a") as log:
            log.write("four\n")
        assert follower.stdout.readline() == "four\n"
        state.end(layout, None)
        assert follower.wait(timeout=20) == 0


def test_build_names_what_it_found(home: dict[str, str], tmp_path: Path) -> None:
    for name in (*COMPONENTS, "kubectl"):
        (tmp_path / name).touch(mode=0o700)
    result = growth({**home, "KUBEBUILDER_ASSETS": str(tmp_path)}, "build", "--output", "json")
    assert json.loads(result.output) == {name: str(tmp_path / name) for name in (*COMPONENTS, "kubectl")}


@pytest.mark.parametrize("command", ["up", "build"])
def test_an_unknown_release_is_bad_input_and_the_known_ones_are_named(home: dict[str, str], command: str) -> None:
    result = growth(home, command, "--kubernetes", "1.12")
    assert result.exit_code == 2
    assert result.output.startswith("Error: no Kubernetes '1.12' is pinned; expected one of 1.33, ")


def test_every_help_ends_with_an_example() -> None:
    group = main.get_command(click.Context(main), "cluster")
    assert isinstance(group, click.Group)
    for command in (group, *group.commands.values()):
        assert "Example:\n  " in (command.help or ""), command.name
