"""Where each program comes from: KUBEBUILDER_ASSETS, then the cache, then a build."""

from pathlib import Path

from growth.local.binaries import binary_cache, ensure_binaries, find_binaries
from growth.local.pinned import PROGRAMS, fingerprint
from growth.local.progress import Event
from tests.local.fake_go import FakeGo

NAMES = [program.name for program in PROGRAMS]


def a_program(folder: Path, name: str, *, executable: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700 if executable else 0o600)
    return path


def ignore(_: Event) -> None:
    pass


def test_each_program_comes_from_the_assets_first_and_from_the_cache_else(tmp_path: Path) -> None:
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path / "assets"), "GROWTH_CACHE": str(tmp_path / "cache")}
    cache = binary_cache(environment)
    for name in NAMES:
        a_program(cache, name)
    etcd = a_program(tmp_path / "assets", "etcd")
    found = find_binaries(environment)
    assert found == {name: cache / name for name in NAMES} | {"etcd": etcd}


def test_a_file_that_cannot_be_run_is_passed_over(tmp_path: Path) -> None:
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path / "assets"), "GROWTH_CACHE": str(tmp_path / "cache")}
    a_program(tmp_path / "assets", "etcd", executable=False)
    assert find_binaries(environment) == {}


def test_the_cache_is_the_users(tmp_path: Path) -> None:
    folder = f"control-plane-{fingerprint()}"
    own = {"GROWTH_CACHE": str(tmp_path / "own"), "XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}
    assert binary_cache(own) == tmp_path / "own" / folder
    assert binary_cache({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}) == Path("/xdg/growth") / folder
    assert binary_cache({"HOME": "/home/me"}) == Path("/home/me/.cache/growth") / folder


def test_a_changed_module_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_text("one")
    before = fingerprint(tmp_path)
    (tmp_path / "go.sum").write_text("another")
    assert fingerprint(tmp_path) != before


async def test_only_what_is_missing_is_built(tmp_path: Path) -> None:
    go = FakeGo(tmp_path)
    environment = {**go.environment(), "KUBEBUILDER_ASSETS": str(tmp_path / "assets")}
    etcd = a_program(tmp_path / "assets", "etcd")
    found = await ensure_binaries(environment, ignore)
    assert sorted(found) == sorted(NAMES)
    assert found["etcd"] == etcd
    assert go.calls() == ["download", *(name for name in NAMES if name != "etcd")]
    await ensure_binaries(environment, ignore)
    assert go.calls().count("download") == 1
