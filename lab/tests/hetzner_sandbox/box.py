"""A sandbox on a clock that the test moves, and short words for what tests ask of it."""

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth_lab.hetzner_sandbox.messages import Answer, request_from
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Right, Sandbox
from growth_lab.simulator.clock import BEGINNING

Json = Any
"""Whatever JSON can be."""

READER: Final = "reader"
KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2hhMQV+3q6gBSpYyTgW0Q2VvUeaWBUXWnqXSTGbz9P me"


class Box:
    """Servers are created in 2 s and started in 3 s more."""

    def __init__(self) -> None:
        self.now: datetime = BEGINNING
        self.sandbox = Sandbox(lambda: self.now, tokens={TOKEN: Right.READ_WRITE, READER: Right.READ})

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def ask(self, method: str, path: str, body: Json = None, token: str = TOKEN) -> Answer:
        content = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        return self.sandbox.answer(request_from(method, f"/v1{path}", f"Bearer {token}", content))

    def get(self, path: str) -> Json:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def post(self, path: str, body: Json = None) -> Json:
        answer = self.ask("POST", path, body)
        assert answer.status == 201, answer
        return answer.body

    def create(self, name: str = "web-1", **wishes: Json) -> Json:
        return self.post("/servers", wanted(name, **wishes))

    def running(self, name: str = "web-1", **wishes: Json) -> int:
        """The id of a server that has booted."""
        server_id = self.create(name, **wishes)["server"]["id"]
        self.pass_by(5)
        return server_id

    def status(self, server_id: int) -> str:
        return self.get(f"/servers/{server_id}")["server"]["status"]

    def action(self, action_id: int) -> Json:
        return self.get(f"/actions/{action_id}")["action"]


def wanted(name: str = "web-1", **wishes: Json) -> dict[str, Any]:
    return {"name": name, "server_type": "cax11", "image": "debian-12", "location": "fsn1"} | wishes


def code(answer: Answer) -> tuple[int, str]:
    assert isinstance(answer.body, dict), answer
    return answer.status, answer.body["error"]["code"]


def message(answer: Answer) -> str:
    assert isinstance(answer.body, dict), answer
    return answer.body["error"]["message"]
