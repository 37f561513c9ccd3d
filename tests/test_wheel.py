"""The built wheel alone: an editable install of product and lab hides what the wheel lacks."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from growth.cli.commands import COMMANDS
from tests.repository import ROOT

OF_THE_LAB = [entry.name for entry in COMMANDS if not entry.module]
PRINTS_WITHOUT_CLUSTER = ("crds", "manifests", "settings")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--disable-pip-version-check", "--wheel-dir", folder, ROOT], check=True)
    [found] = folder.glob("growth-*.whl")
    return found


@pytest.fixture(scope="module")
def site(wheel: Path) -> Path:
    """Folder with the dependencies of this environment, and the wheel in place of product and lab."""
    folder = wheel.parent / "site"
    folder.mkdir()
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if not one.name.startswith(("growth", "_growth", "_editable")):
            folder.joinpath(one.name).symlink_to(one)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def growth(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # -S: no file of this environment's site-packages puts the sources on the path.
    environment = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"], "HOME": str(site.parent)}
    command = [sys.executable, "-S", "-m", "growth", *words]
    return subprocess.run(command, cwd=site.parent, env=environment, check=False, capture_output=True, text=True)


def test_wheel_has_no_file_of_the_lab_or_of_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"growth", "growth-0.1.0.dist-info"}


def test_installed_wheel_is_what_runs(site: Path) -> None:
    shown = "import growth; print(growth.__file__)"
    command = [sys.executable, "-S", "-c", shown]
    done = subprocess.run(command, env={"PYTHONPATH": str(site)}, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(str(site))


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS if entry.module])
def test_command_of_the_product_shows_its_help(site: Path, name: str) -> None:
    done = growth(site, name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Example:" in done.stdout


@pytest.mark.parametrize("name", PRINTS_WITHOUT_CLUSTER)
def test_command_that_needs_no_cluster_prints(site: Path, name: str) -> None:
    done = growth(site, name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("name", OF_THE_LAB)
def test_command_of_the_lab_names_how_to_install_it(site: Path, name: str) -> None:
    done = growth(site, name)
    assert done.returncode == 2
    assert done.stderr.endswith(
        f"Error: growth {name} is part of growth-lab, which is not installed: pip install ./lab\n"
    )
