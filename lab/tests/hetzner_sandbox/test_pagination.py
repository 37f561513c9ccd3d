"""Pages, filters and order, which are the same for every list."""

from collections.abc import Sequence

import pytest

from lab.tests.hetzner_sandbox.box import Box, Json, code


def boxful(count: int) -> Box:
    box = Box()
    for number in range(count):
        labels = {"pool": "a" if number % 2 else "b"} | ({"odd": ""} if number % 2 else {})
        box.post("/placement_groups", {"name": f"group-{number:02}", "type": "spread", "labels": labels})
    return box


def names(page: Json) -> Sequence[str]:
    return [group["name"] for group in page["placement_groups"]]


def test_pages_have_25_unless_asked_and_never_more_than_50() -> None:
    box = boxful(60)
    assert len(names(box.get("/placement_groups"))) == 25
    assert len(names(box.get("/placement_groups?per_page=7"))) == 7
    assert len(names(box.get("/placement_groups?per_page=500"))) == 50


def test_pages_tell_where_they_are() -> None:
    box = boxful(60)
    answer = box.ask("GET", "/placement_groups?page=2&per_page=25")
    assert isinstance(answer.body, dict)
    assert names(answer.body) == [f"group-{number}" for number in range(25, 50)]
    assert answer.body["meta"]["pagination"] == {
        "page": 2,
        "per_page": 25,
        "previous_page": 1,
        "next_page": 3,
        "last_page": 3,
        "total_entries": 60,
    }
    assert dict(answer.headers)["Link"] == (
        '</v1/placement_groups?per_page=25&page=1>; rel="prev", '
        '</v1/placement_groups?per_page=25&page=3>; rel="next", '
        '</v1/placement_groups?per_page=25&page=3>; rel="last"'
    )


def test_behind_the_last_page_there_is_nothing() -> None:
    page = boxful(3).get("/placement_groups?page=9")
    assert (names(page), page["meta"]["pagination"]["next_page"]) == ([], None)


def test_nothing_has_one_empty_page() -> None:
    pages = Box().get("/servers")["meta"]["pagination"]
    assert (pages["last_page"], pages["next_page"], pages["total_entries"]) == (1, None, 0)


@pytest.mark.parametrize(
    "query", ["page=0", "page=x", "per_page=-1", "sort=colour", "sort=id:up", "label_selector=a%20b"]
)
def test_a_query_that_means_nothing_is_refused(query: str) -> None:
    assert code(Box().ask("GET", f"/placement_groups?{query}")) == (422, "invalid_input")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("pool=a", [1, 3]),
        ("pool==a", [1, 3]),
        ("pool!=a", [0, 2]),
        ("odd", [1, 3]),
        ("!odd", [0, 2]),
        ("pool in (a,b)", [0, 1, 2, 3]),
        ("pool notin (a,b)", []),
        ("pool=a,odd", [1, 3]),
        ("pool=a,!odd", []),
        ("other!=x", [0, 1, 2, 3]),
    ],
)
def test_labels_select(selector: str, expected: Sequence[int]) -> None:
    query = selector.replace("=", "%3D").replace(" ", "+")
    found = names(boxful(4).get(f"/placement_groups?label_selector={query}"))
    assert found == [f"group-{number:02}" for number in expected]


def test_names_are_exact_and_none_is_an_empty_list() -> None:
    box = boxful(3)
    assert names(box.get("/placement_groups?name=group-01")) == ["group-01"]
    assert names(box.get("/placement_groups?name=group")) == []


def test_several_statuses_may_be_asked_for() -> None:
    box = Box()
    box.running("a")
    box.create("b", start_after_create=False)
    box.pass_by(5)
    box.create("c")
    asked = box.get("/servers?status=off&status=running")["servers"]
    assert [server["name"] for server in asked] == ["a", "b"]


def test_the_first_order_weighs_most() -> None:
    box = Box()
    for name in ("b", "a", "c"):
        box.create(name, start_after_create=name != "b")
    box.pass_by(5)

    def order(query: str) -> str:
        return "".join(server["name"] for server in box.get(f"/servers?{query}")["servers"])

    assert order("") == "bac"
    assert order("sort=name") == "abc"
    assert order("sort=name:desc") == "cba"
    assert order("sort=status:asc&sort=name:desc") == "bca"
    assert order("sort=id:desc") == "cab"
