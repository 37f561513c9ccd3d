"""docs/versions.md has the table of features that the code has, and the releases that are pinned."""

from growth.api.server_features import FEATURES, NEWEST, OLDEST
from growth_lab.local_cluster.pinned_modules import RELEASES
from tests.repository import page_text

PAGE = page_text("versions")


def rows(title: str) -> list[list[str]]:
    """The cells of the table whose first column has this title."""
    lines = PAGE.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {title} |"))
    body = lines[start + 2 :]
    end = next(number for number, line in enumerate([*body, ""]) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body[:end]]


def test_page_lists_every_feature_as_the_code_has_it() -> None:
    expected = [
        [one.name, one.since, ", ".join(one.capabilities) or "every capability", one.without] for one in FEATURES
    ]
    assert rows("feature") == expected


def test_page_lists_every_pinned_release() -> None:
    assert rows("release") == [[one.minor, one.version] for one in RELEASES]
    assert f"Growth works on Kubernetes {OLDEST} and later." in PAGE
    assert RELEASES[-1].minor == NEWEST
