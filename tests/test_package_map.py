"""The map in docs/architecture.md is the one that the code draws, and shows every package."""

from bench import pipeline_map
from bench.package_map import DECIDERS, PAGE, PICTURE, SHARED, lab_packages, layers, page_with_map, picture, what
from growth.decide.pipeline import PIPELINE
from tests.repository import ROOT, SOURCES


def test_picture_and_table_are_those_of_the_code() -> None:
    again = "run: python -m bench.package_map"
    assert PICTURE.read_text(encoding="utf-8") == picture(), again
    text = PAGE.read_text(encoding="utf-8")
    assert page_with_map(text) == text, again


def test_pass_is_drawn_as_the_pipeline_has_it() -> None:
    again = "run: python -m bench.pipeline_map"
    assert pipeline_map.PICTURE.read_text(encoding="utf-8") == pipeline_map.picture(), again
    text = PAGE.read_text(encoding="utf-8")
    assert pipeline_map.page_with_pass(text) == text, again
    assert all(stage.name in text or pipeline_map.title(stage) in text for stage in PIPELINE)


def test_every_package_is_on_the_map() -> None:
    assert sorted(layers()) == sorted(path.parent.name for path in SOURCES.glob("*/__init__.py"))
    deciders = sorted(path.parent.name for path in SOURCES.glob("decide/*/__init__.py"))
    assert sorted((*DECIDERS, *SHARED)) == deciders


def test_every_package_says_in_a_sentence_what_it_holds() -> None:
    folders = [path.parent for root in (SOURCES, ROOT / "lab/src/growth_lab") for path in root.glob("*/__init__.py")]
    assert len(folders) > len(lab_packages())
    assert [folder.name for folder in folders if not 10 < len(what(folder)) < 120] == []
