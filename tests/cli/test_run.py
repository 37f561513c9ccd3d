"""``growth run``: what stops a start is one sentence, and exit code 2."""

import logging
import socket
from collections.abc import Generator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from growth.cli.errors import sentence_for
from growth.cli.main import main
from growth.kube.errors import Forbidden, NotFound
from tests.cli.test_snapshot import a_kubeconfig, free_port


@pytest.fixture(autouse=True)
def logging_as_before() -> Generator[None]:
    """A command that runs for long sets the logs of its process up; here that is the tests' own."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", "--health-port", "0", *arguments])


def is_refused(result: Result, *words: str) -> bool:
    """Exit code 2, and the last line, behind the log, is the sentence."""
    line = result.stderr.strip().splitlines()[-1]
    return (
        result.exit_code == 2
        and line.startswith("Error: ")
        and "Traceback" not in result.stderr
        and all(word in line for word in words)
    )


def test_an_unknown_capability_is_refused() -> None:
    assert is_refused(run("--only", "memory,growht"), "--only memory,growht: there is no capability 'growht'")


def test_an_unknown_provider_is_refused_with_the_closest_name() -> None:
    problem = "providers.enabled 'kwok,kwork': there is no provider 'kwork': the closest is kwok"
    assert is_refused(run("--providers-enabled", "kwok,kwork"), problem)


def test_names_of_providers_are_names_and_commas() -> None:
    problem = "providers.enabled: 'kwok, hetzner' is not possible: expected names of providers, separated by commas"
    assert is_refused(run("--providers-enabled", "kwok, hetzner"), problem)


def test_a_missing_kubeconfig_is_refused(tmp_path: Path) -> None:
    assert is_refused(run("--kubeconfig", str(tmp_path / "none")), "there is no file")


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    port = free_port()
    result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", port))
    assert is_refused(result, f"https://127.0.0.1:{port}", "unreachable", "Connection refused")


def test_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = run(
            "--kubeconfig", a_kubeconfig(tmp_path / "shop", 1), "--health-address", "127.0.0.1", "--health-port", port
        )
    assert is_refused(result, f"health.port {port}: cannot listen there (Address already in use)", "--health-port")


def test_bad_settings_are_refused() -> None:
    result = run("--health-port", "70000")
    assert is_refused(result, "health.port: '70000' is not possible: expected a whole number from 0 to 65535")


def test_missing_kinds_are_told_with_their_cure() -> None:
    path = "GET /apis/growth.dev/v1alpha1/nodepools: 404 page not found"
    assert "growth crds | kubectl apply --server-side -f -" in sentence_for(NotFound(path, status=404, reason=""))
    assert sentence_for(Forbidden("no", status=403, reason="")) == "no"
