"""What is pinned: one module for each release, and each is whole."""

import pytest

from growth_lab.local_cluster.errors import UnknownRelease
from growth_lab.local_cluster.pinned_modules import (
    DEFAULT_RELEASE,
    PROGRAMS,
    RELEASES,
    Release,
    named_sources,
    release_of,
    sources,
    version_from,
)

each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.minor)


def test_releases_are_those_growth_promises_to_work_on() -> None:
    assert [release.minor for release in RELEASES] == ["1.33", "1.34", "1.35", "1.36", "1.37"]


@each_release
def test_module_pins_a_patch_release_of_its_minor(release: Release) -> None:
    assert version_from(release.version)[:2] == version_from(release.minor)
    assert f"gitVersion={release.version} " in release.linker_flags
    assert release.linker_flags.endswith(f"gitMinor={release.minor.removeprefix('1.')}")


@each_release
def test_module_pins_every_program_that_is_built_from_it(release: Release) -> None:
    module, sums = ((release.module / name).read_text() for name in ("go.mod", "go.sum"))
    built = [one for one in PROGRAMS if sources(release, release)[one.name] == release]
    modules = {one.package.split("/cmd/")[0] for one in built}
    assert {one for one in modules if f"\t{one} v" not in module or f"{one} v" not in sums} == set()


@each_release
def test_libraries_of_kubernetes_are_of_the_same_patch_release(release: Release) -> None:
    lines = (release.module / "go.mod").read_text().splitlines()
    pinned = {line.split(" => ")[1].split()[1] for line in lines if " => k8s.io/" in line}
    assert pinned == {release.version.replace("v1.", "v0.", 1)}


def test_controllers_may_be_older_than_the_rest() -> None:
    newer, older = release_of("1.35"), release_of("1.34")
    assert named_sources("1.35", "1.34") == {
        "kube-apiserver": newer,
        "kube-controller-manager": older,
        "kube-scheduler": older,
        "kubectl": newer,
        "kwok": DEFAULT_RELEASE,
        "etcd": newer,
    }


def test_without_a_name_any_programs_will_do() -> None:
    assert named_sources("") is None
    assert named_sources("", "1.35") == sources(DEFAULT_RELEASE, release_of("1.35"))


@pytest.mark.parametrize("name", ["1.3", "1.33.13", "v1.33", "latest"])
def test_unknown_release_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(UnknownRelease, match=f"no Kubernetes '{name}' is pinned; expected one of 1.33, 1.34, "):
        release_of(name)
