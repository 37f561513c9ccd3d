"""``growth hetzner-sandbox``: says how to use it, does it, and ends when asked to."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hcloud import APIException, Client

from growth.cli.main import main
from tests.cli.test_snapshot import a_kubeconfig, free_port

pytestmark = pytest.mark.long


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["hetzner-sandbox", *arguments])


@contextmanager
def started(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A process of its own, and what it says first."""
    command = [sys.executable, "-m", "growth", "hetzner-sandbox", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            lines: list[str] = []
            while "/faults" not in "".join(lines):
                line = process.stdout.readline()
                assert line, process.stderr.read() if process.stderr else ""
                lines.append(line)
            yield process, "".join(lines)
        finally:
            process.kill()


def test_it_serves_what_it_says_until_ctrl_c() -> None:
    with started("--token", "secret", "--boot-seconds", "0.1") as (process, page):
        told = dict(re.findall(r"export (\w+)=(\S+)", page))
        assert told["HCLOUD_TOKEN"] == "secret"
        assert len(Client("secret", told["HCLOUD_ENDPOINT"]).locations.get_all()) == 6
        with pytest.raises(APIException, match="unable to authenticate"):
            Client("sandbox", told["HCLOUD_ENDPOINT"]).locations.get_all()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out.strip(), err) == (0, "", "")


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("--port", str(port))
    assert result.exit_code == 2
    problem = f"Error: --port {port}: cannot listen there"
    assert result.stderr.startswith(problem)
    assert "choose another one, or 0 for any that is free" in result.stderr


def test_an_empty_token_is_refused() -> None:
    result = run("--token", " ")
    assert (result.exit_code, result.stderr) == (2, "Error: --token ' ': expected a text that is not empty\n")


@pytest.mark.parametrize("arguments", [("--boot", "kwok"), ("--kubeconfig", "config")])
def test_nodes_need_a_cluster_that_is_named(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "expected both of --boot kwok and --kubeconfig, or none" in result.stderr


def test_a_cluster_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    port = free_port()
    result = run("--port", "0", "--boot", "kwok", "--kubeconfig", a_kubeconfig(tmp_path / "shop", port))
    assert result.exit_code == 2
    assert f"https://127.0.0.1:{port}" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_teaches_the_variables_and_the_faults() -> None:
    page = run("--help").output
    assert all(
        word in page for word in ("HCLOUD_TOKEN", "HCLOUD_ENDPOINT", "/_sandbox/faults", "--boot kwok", "hcloud://")
    )
