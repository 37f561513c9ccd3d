"""``growth world``: what it shows, and the one sentence that it ends with when it cannot."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from bench.pictures import world as a_summary
from bench.standin import running
from growth.cli.main import main
from growth.cli.reports.cluster_summary import ClusterSummary
from growth.cli.snapshot import view
from growth_lab.local_cluster.certificates import write_certificates
from growth_lab.local_cluster.kubeconfig import with_certificate, write
from growth_lab.local_cluster.layout import Layout


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["world", *arguments])


@pytest.fixture
def kubeconfig() -> Generator[str]:
    """A cluster of three nodes and thirty pods."""
    with running(nodes=3, pods=30) as path:
        yield path


def test_it_shows_nodes_pods_and_who_waits(kubeconfig: str) -> None:
    result = run("--kubeconfig", kubeconfig)
    assert result.exit_code == 0
    assert "3 nodes all ready" in result.output
    assert "30 pods" in result.output
    assert "nobody waits" in result.output


def test_it_prints_the_same_value_as_json(kubeconfig: str) -> None:
    result = run("--kubeconfig", kubeconfig, "--output", "json")
    assert json.loads(result.stdout)["pods"] == 30


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_the_terminal(width: int) -> None:
    console = Console(width=width, file=None, record=True, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(view(a_summary(), width))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].split("   ") == ["31 nodes 2 not ready", "412 pods of 14 shapes", "18 waiting"]
    assert any("8/10" in line and "57%" in line and "51%" in line for line in lines)
    assert any(line.split()[:4] == ["14", "shop", "ReplicaSet", "checkout-7d9c5"] for line in lines)


def test_an_empty_cluster_can_be_looked_at() -> None:
    empty = ClusterSummary(datetime(2026, 11, 15, tzinfo=UTC), 0, 0, 0, 0, 0, (), ())
    with (console := Console(width=80)).capture() as captured:
        console.print(view(empty, 80))
    assert "0 nodes" in captured.get()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def a_listener(layout: Layout) -> Generator[int]:
    """A TLS server that shows a certificate of this layout and says nothing else."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(layout.certificate("server"), layout.key("server"))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    with contextlib.suppress(OSError), peer:
                        context.wrap_socket(peer, server_side=True).close()

        thread = threading.Thread(target=accept)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def a_kubeconfig(folder: Path, port: int) -> str:
    layout = Layout(folder)
    write_certificates(layout)
    write(layout.kubeconfig, with_certificate(layout, port, "admin"))
    return str(layout.kubeconfig)


def is_one_sentence(result: Result, *words: str) -> bool:
    """Exit code 2, one line on standard error, no traceback, and the words that matter."""
    (line,) = result.stderr.strip().splitlines()
    return (
        result.exit_code == 2
        and result.stdout == ""
        and line.startswith("Error: ")
        and "Traceback" not in line
        and all(word in line for word in words)
    )


def test_a_missing_kubeconfig_is_refused(tmp_path: Path) -> None:
    assert is_one_sentence(run("--kubeconfig", str(tmp_path / "none")), "there is no file")


def test_an_empty_kubeconfig_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert is_one_sentence(run("--kubeconfig", str(tmp_path / "empty")), "empty")


def test_an_unknown_context_is_refused(tmp_path: Path) -> None:
    result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port()), "--context", "prodction")
    assert is_one_sentence(result, "'prodction'", "growth-shop")


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    port = free_port()
    result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", port))
    assert is_one_sentence(result, f"https://127.0.0.1:{port}", "unreachable", "Connection refused")


def test_a_server_with_another_ca_is_not_trusted(tmp_path: Path) -> None:
    other = Layout(tmp_path / "other")
    write_certificates(other)
    with a_listener(other) as port:
        result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", port))
    assert is_one_sentence(result, "cannot be trusted", "check the CA")
