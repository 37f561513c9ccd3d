"""Where each program comes from: KUBEBUILDER_ASSETS, then the cache, then a build."""

from pathlib import Path

from growth_lab.local_cluster.binaries import binary_cache, ensure_binaries, find_binaries
from growth_lab.local_cluster.pinned_modules import DEFAULT_RELEASE, PROGRAMS, RELEASES, Release, release_of, sources
from growth_lab.local_cluster.progress import Event
from lab.tests.local_cluster.fake_go import FakeGo

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
    folder = f"control-plane-{DEFAULT_RELEASE.fingerprint}"
    own = {"GROWTH_CACHE": str(tmp_path / "own"), "XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}
    assert binary_cache(own) == tmp_path / "own" / folder
    assert binary_cache({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/me"}) == Path("/xdg/growth") / folder
    assert binary_cache({"HOME": "/home/me"}) == Path("/home/me/.cache/growth") / folder


def test_every_release_has_a_folder_of_its_own_in_the_cache() -> None:
    environment = {"GROWTH_CACHE": "/cache"}
    assert len({binary_cache(environment, release) for release in RELEASES}) == len(RELEASES)


def test_a_changed_module_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("\tk8s.io/kubernetes v1.36.3\n")
    (tmp_path / "go.sum").write_text("one")
    before = Release(tmp_path).fingerprint
    (tmp_path / "go.sum").write_text("another")
    assert Release(tmp_path).fingerprint != before


def test_parts_of_a_named_release_come_from_its_cache_and_never_from_the_assets(tmp_path: Path) -> None:
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path / "assets"), "GROWTH_CACHE": str(tmp_path / "cache")}
    newer, older = release_of("1.34"), release_of("1.33")
    for name in NAMES:
        a_program(tmp_path / "assets", name)
        for release in (newer, older, DEFAULT_RELEASE):
            a_program(binary_cache(environment, release), name)
    found = find_binaries(environment, sources(newer, older))
    taken_from = {name: path.parent for name, path in found.items()}
    assert taken_from == {
        "kube-apiserver": binary_cache(environment, newer),
        "kube-controller-manager": binary_cache(environment, older),
        "kube-scheduler": binary_cache(environment, older),
        "kubectl": binary_cache(environment, newer),
        "kwok": binary_cache(environment, DEFAULT_RELEASE),
        "etcd": binary_cache(environment, newer),
    }


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


async def test_each_release_is_built_from_its_own_module(tmp_path: Path) -> None:
    go = FakeGo(tmp_path)
    newer, older = release_of("1.34"), release_of("1.33")
    found = await ensure_binaries(go.environment(), ignore, sources(newer, older))
    assert sorted(found) == sorted(NAMES)
    assert go.folders() == [str(release.module) for release in (older, newer, DEFAULT_RELEASE)]
