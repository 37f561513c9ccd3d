"""Who gets in, and what everybody hears who does not."""

from lab.tests.hetzner_sandbox.box import READER, Box, code, wanted


def test_an_unknown_path_is_not_found_before_the_token_is_looked_at() -> None:
    assert code(Box().ask("GET", "/primary_ipss", token="wrong")) == (404, "not_found")
    assert code(Box().ask("GET", "/servers/first", token="wrong")) == (404, "not_found")


def test_a_wrong_token_is_unauthorized_and_sees_no_limit() -> None:
    answer = Box().ask("GET", "/servers", token="wrong")
    assert code(answer) == (401, "unauthorized")
    assert answer.headers == ()


def test_a_token_that_may_only_read_reads() -> None:
    box = Box()
    assert box.ask("GET", "/servers", token=READER).status == 200
    assert code(box.ask("POST", "/servers", wanted(), token=READER)) == (401, "token_readonly")
    assert box.get("/servers")["servers"] == []


def test_what_a_path_cannot_do_is_not_allowed() -> None:
    assert code(Box().ask("PATCH", "/servers")) == (405, "method_not_allowed")
    assert code(Box().ask("DELETE", "/pricing")) == (405, "method_not_allowed")


def test_datacenters_are_gone() -> None:
    for path in ("/datacenters", "/datacenters/4"):
        answer = Box().ask("GET", path)
        assert code(answer) == (410, "deprecated_api_endpoint")
        assert isinstance(answer.body, dict)
        assert list(answer.body["error"]["details"]) == ["announcement"]


def test_a_body_that_is_no_json_is_told_apart_from_a_wrong_one() -> None:
    assert code(Box().ask("POST", "/servers", b"{name")) == (400, "json_error")
    answer = Box().ask("POST", "/servers", wanted(labels={"a": 1}))
    assert isinstance(answer.body, dict)
    assert answer.body["error"]["details"] == {
        "fields": [{"name": "labels[...]", "messages": ["Expected `str`, got `int`"]}]
    }


def test_a_missing_field_is_named() -> None:
    answer = Box().ask("POST", "/servers", {"name": "a", "server_type": "cx23"})
    assert code(answer) == (422, "invalid_input")
    assert isinstance(answer.body, dict)
    assert answer.body["error"]["details"] == {"fields": [{"name": "image", "messages": ["is required"]}]}
