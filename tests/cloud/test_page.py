"""docs/providers.md: its examples work, and it names everything that there is."""

import re
import sys
import types
from typing import Any

import pytest

from growth.cloud import errors
from growth.cloud.kwok.catalog import CatalogError, read_catalogue
from growth.cloud.kwok.faults import FaultType
from growth.cloud.kwok.machine_record import FAULTS, FENCED_AT
from growth_lab.provider_contract import CHECKS, Check
from tests.cloud.memory import MemoryTrial
from tests.repository import page_text

PAGE = page_text("providers")


def example(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_contract_is_run_as_the_page_says(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    testing = types.ModuleType("mycloud.testing")
    vars(testing)["MyTrial"] = MemoryTrial
    monkeypatch.setitem(sys.modules, "mycloud", types.ModuleType("mycloud"))
    monkeypatch.setitem(sys.modules, "mycloud.testing", testing)
    names: dict[str, Any] = {}
    exec(compile(example("python"), "docs/providers.md", "exec"), names)  # noqa: S102 - our own page
    await names["test_the_contract_is_kept"](check)


def test_the_catalogue_of_the_page_can_be_read() -> None:
    by_id = {offering.id: offering for offering in read_catalogue(example("yaml")).offerings}
    assert by_id["kwok-cx23-fsn1"].stock == 3
    assert by_id["kwok-workstation-attic"].resources["nvidia.com/gpu"] == "2"
    assert "kwok-gex44-fsn1" in by_id


def test_what_is_wrong_is_told_as_the_page_says() -> None:
    text = example("yaml").replace("    stock:", "    stok:").replace("attic: 0.05", "attic: -1")
    text = text.replace("    faults: [slowBoot=10m]\n", "").replace("    bootDelay: 2m\n", "")
    with pytest.raises(CatalogError) as raised:
        read_catalogue(text + "    faults: [slowBot=10m]\n", file_name="mine.yaml")
    assert list(raised.value.problems) == re.findall(r"^mine\.yaml line .*$", PAGE, re.MULTILINE)


def test_the_page_names_every_fault_and_every_error() -> None:
    assert [kind for kind in FaultType if f"| `{kind}" not in PAGE] == []
    leaves = [name for name, value in vars(errors).items() if isinstance(value, type) and name != "ProviderError"]
    assert [name for name in leaves if f"| `{name}`" not in PAGE] == []
    assert FAULTS in PAGE
    assert FENCED_AT in PAGE
