"""The sandbox's own calls: faults, tokens, snapshots and counting by HTTP."""

from typing import Any

import msgspec

from growth_lab.hetzner_sandbox.control_api import control
from growth_lab.hetzner_sandbox.messages import Answer, request_from
from lab.tests.hetzner_sandbox.box import Box, Json, code, wanted


def tell(box: Box, method: str, path: str, body: Json = None) -> Answer:
    content = b"" if body is None else msgspec.json.encode(body)
    return control(box.sandbox, request_from(method, f"/_sandbox{path}", body=content))


def test_faults_are_ordered_seen_and_cleared() -> None:
    box = Box()
    fault = {"kind": "sold_out", "server_type": "cax11", "location": "fsn1"}
    answer = tell(box, "POST", "/faults", fault)
    assert (answer.status, answer.body) == (201, {"faults": [fault | {"left": 0, "is_listed": False}]})
    assert code(box.ask("POST", "/servers", wanted())) == (412, "resource_unavailable")
    assert tell(box, "GET", "/faults").body == answer.body
    assert tell(box, "DELETE", "/faults").status == 204
    box.create()


def test_every_kind_can_be_ordered() -> None:
    box = Box()
    box.running()
    orders: list[dict[str, Any]] = [
        {"kind": "quota", "servers": 5},
        {"kind": "rate_limit", "left": 100},
        {"kind": "refuse", "code": "server_error", "method": "POST", "path": "/servers", "times": 2},
        {"kind": "slow", "seconds": 0.5},
        {"kind": "lost", "method": "DELETE"},
        {"kind": "action_fails", "command": "start_server"},
        {"kind": "power_cut", "server": "web-1"},
        {"kind": "vanish", "server": "web-1"},
    ]
    assert [tell(box, "POST", "/faults", order).status for order in orders] == [201] * len(orders)
    assert box.sandbox.servers() == []


def test_an_order_that_cannot_be_read_says_why() -> None:
    box = Box()
    wrong: dict[str, dict[str, Any]] = {
        "Invalid value 'teapot' - at `$.kind`": {"kind": "teapot"},
        "Object contains unknown field `servertype`": {"kind": "sold_out", "server_type": "*", "servertype": "b"},
        "Object missing required field `command`": {"kind": "action_fails"},
        "code 'teapot' is no error of the API": {"kind": "refuse", "code": "teapot"},
        "there is no server 'web-9'": {"kind": "vanish", "server": "web-9"},
    }
    for sentence, order in wrong.items():
        answer = tell(box, "POST", "/faults", order)
        assert answer.status == 422
        assert isinstance(answer.body, dict)
        assert sentence in answer.body["problem"]


def test_tokens_are_rotated() -> None:
    box = Box()
    assert tell(box, "PUT", "/tokens", {"new": "read_write"}).status == 204
    assert code(box.ask("GET", "/servers")) == (401, "unauthorized")
    assert box.ask("GET", "/servers", token="new").status == 200
    assert tell(box, "PUT", "/tokens", {"new": "everything"}).status == 422


def test_calls_are_counted_by_route() -> None:
    box = Box()
    server = box.running()
    for _ in range(3):
        box.status(server)
    overview = tell(box, "GET", "").body
    assert isinstance(overview, dict)
    assert overview["calls"] == {"GET /servers/{id}": 3, "POST /servers": 1}
    assert overview["servers"] == {"web-1": "running"}
    assert overview["tokens"] == {"read": 1, "read_write": 1}
    calls = tell(box, "GET", "/calls").body
    assert isinstance(calls, dict)
    assert calls["calls"][0] == {"at": "2026-03-02T09:00:00Z", "method": "POST", "route": "/servers", "status": 201}
    tell(box, "DELETE", "/calls")
    assert box.sandbox.calls == []


def test_snapshots_can_be_put_there() -> None:
    box = Box()
    answer = tell(box, "POST", "/snapshots", {"labels": {"os": "talos"}, "architecture": "arm"})
    assert answer.status == 201
    assert len(box.get("/images?type=snapshot&architecture=arm")["images"]) == 1


def test_what_it_does_not_have_it_says() -> None:
    answer = tell(Box(), "GET", "/everything")
    assert answer.status == 404
    assert isinstance(answer.body, dict)
    assert "expected /_sandbox, or /_sandbox/ with faults, calls, tokens or snapshots" in answer.body["problem"]
