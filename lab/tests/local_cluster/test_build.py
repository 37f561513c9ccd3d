"""Building: steps that are told, interruptions that cost nothing, and failures that say what to do."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from growth_lab.local_cluster import process
from growth_lab.local_cluster.binaries import binary_cache, ensure_binaries
from growth_lab.local_cluster.errors import BuildFailed
from growth_lab.local_cluster.pinned_modules import PROGRAMS
from growth_lab.local_cluster.progress import Done, Event, Step, Stopped
from lab.tests.local_cluster.fake_go import FakeGo
from lab.tests.local_cluster.waiting import wait_for

NAMES = [program.name for program in PROGRAMS]
BUILD = (sys.executable, "-c", "from growth.cli.main import main; main()", "cluster", "build")


def ignore(_: Event) -> None:
    pass


def children_of(go: FakeGo) -> list[process.Process]:
    """All that runs with this test's environment: builders and compilers."""
    return process.marked("GROWTH_CACHE", go.environment()["GROWTH_CACHE"])


def a_builder(go: FakeGo) -> subprocess.Popen[str]:
    return subprocess.Popen(
        BUILD,
        env=go.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that run in the background inherit a Ctrl-C that is ignored; a person's shell never does that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one thread starts it
    )


async def test_every_step_is_named_with_its_number_and_its_usual_duration(tmp_path: Path) -> None:
    events: list[Event] = []
    await ensure_binaries(FakeGo(tmp_path).environment(), events.append)
    steps = [event for event in events if isinstance(event, Step)]
    assert [step.title for step in steps] == ["download the Go modules", *(f"build {name}" for name in NAMES)]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert {step.total for step in steps} == {len(steps)}
    assert all(step.usual_seconds > 0 for step in steps)
    assert [event.step for event in events if isinstance(event, Done)] == steps


@pytest.mark.long
def test_a_build_killed_with_9_resumes_with_the_program_it_died_at(tmp_path: Path) -> None:
    go = FakeGo(tmp_path)
    cache = binary_cache(go.environment())
    second = NAMES[1]
    go.hold(second)
    with a_builder(go) as builder:
        wait_for((cache / f"{second}.partial").exists, f"{second} is half written")
        builder.kill()
    wait_for(lambda: not children_of(go), "the compiler dies with its builder")
    assert (cache / NAMES[0]).exists()
    assert not (cache / second).exists(), "half a program is never taken for one"
    go.release(second)
    before = len(go.calls())
    with a_builder(go) as builder:
        _, errors = builder.communicate(timeout=30)
        assert builder.returncode == 0, errors
    assert go.calls()[before:] == ["download", *NAMES[1:]]
    assert sorted(path.name for path in cache.iterdir()) == sorted(NAMES)


@pytest.mark.long
def test_two_builders_wait_for_each_other_and_build_everything_once(tmp_path: Path) -> None:
    go = FakeGo(tmp_path)
    go.hold(NAMES[0])
    with a_builder(go) as first:
        wait_for(lambda: NAMES[0] in go.calls(), "the first builder builds")
        with a_builder(go) as second:
            assert second.stderr is not None
            line = second.stderr.readline()
            go.release(NAMES[0])
            _, errors = second.communicate(timeout=30)
            assert second.returncode == 0, errors
        _, errors = first.communicate(timeout=30)
        assert first.returncode == 0, errors
    assert line.startswith(f"waiting for process {first.pid} (since ")
    assert go.calls() == ["download", *NAMES]


def test_ctrl_c_ends_the_compiler_too(tmp_path: Path) -> None:
    go = FakeGo(tmp_path)
    go.hold(NAMES[0])
    with a_builder(go) as builder:
        wait_for(lambda: NAMES[0] in go.calls(), "the build runs")
        builder.send_signal(signal.SIGINT)
        builder.communicate(timeout=30)
        assert builder.returncode == 1
    assert children_of(go) == []


@pytest.mark.parametrize(
    ("at", "said", "told"),
    [
        pytest.param(
            "download",
            "go: example.com/x@v1.0.0: dial tcp: lookup registry.invalid: no such host",
            "no registry of Go modules answers: check the network or set GOPROXY to one that does",
            id="no registry",
        ),
        pytest.param(
            "download",
            "go: example.com/x@v1.0.0: reading https://registry.invalid/x.mod: 502 Bad Gateway",
            "no registry of Go modules answers",
            id="a registry that is broken",
        ),
        pytest.param(
            "download",
            "verifying example.com/x@v1.0.0: checksum mismatch\nSECURITY ERROR",
            "a downloaded module is not the one that go.sum pins",
            id="a module that was tampered with",
        ),
        pytest.param(
            "kube-apiserver",
            "go build k8s.io/api: write $WORK/b1/_pkg_.a: no space left on device",
            "the disk is full: a first build needs about 5 GB",
            id="a full disk",
        ),
        pytest.param(
            "kube-apiserver",
            "k8s.io/api/core/v1: compile: signal: killed",
            "the compiler ran out of memory: it needs about 3 GB",
            id="too little memory",
        ),
        pytest.param("etcd", "x.go:1:1: undefined: y", "x.go:1:1: undefined: y", id="anything else, in Go's words"),
    ],
)
async def test_a_failure_is_one_sentence_that_says_what_to_do(tmp_path: Path, at: str, said: str, told: str) -> None:
    go = FakeGo(tmp_path)
    go.fail(at, said)
    events: list[Event] = []
    with pytest.raises(BuildFailed) as caught:
        await ensure_binaries(go.environment(), events.append)
    assert isinstance(events[-1], Stopped)
    step = "download the Go modules" if at == "download" else f"build {at}"
    assert str(caught.value).startswith(f"cannot {step}: {told}")
    assert "\n" not in str(caught.value)


async def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = {**FakeGo(tmp_path).environment(), "GROWTH_CACHE": str(tmp_path / "file")}
    with pytest.raises(BuildFailed, match=r"building in .*/file/control-plane-\w+ failed"):
        await ensure_binaries(environment, ignore)


async def test_a_cancelled_build_can_be_started_again_at_once(tmp_path: Path) -> None:
    go = FakeGo(tmp_path)
    go.hold(NAMES[0])
    task = asyncio.ensure_future(ensure_binaries(go.environment(), ignore))
    await asyncio.to_thread(wait_for, lambda: NAMES[0] in go.calls(), "the build runs")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.release(NAMES[0])
    assert sorted(await ensure_binaries(go.environment(), ignore)) == sorted(NAMES)
