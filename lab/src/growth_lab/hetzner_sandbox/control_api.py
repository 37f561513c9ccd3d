"""The sandbox's own calls, under a path that Hetzner does not have and without a token.

| call | what for |
|---|---|
| GET /_sandbox | what is there: servers, faults, tokens, calls by route |
| GET, POST, DELETE /_sandbox/faults | see, order (one JSON object with ``kind``), clear |
| GET, DELETE /_sandbox/calls | the calls that were made, one by one; begin counting anew |
| PUT /_sandbox/tokens | the tokens that are valid from now on, ``{"secret": "read_write"}`` |
| POST /_sandbox/snapshots | an image with ``labels``, ``architecture``, ``description`` |
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from growth_lab.hetzner_sandbox.faults import Fault
from growth_lab.hetzner_sandbox.images import image_json
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.sandbox import NoSuchServer, Right, Sandbox

CONTROL: Final = "/_sandbox"


class _Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    labels: dict[str, str]
    architecture: str = "x86"
    description: str = ""


def control(sandbox: Sandbox, request: Request) -> Answer:
    """Answer a call to the sandbox itself."""
    sandbox.advance()
    try:
        return _answer(sandbox, request)
    except (msgspec.DecodeError, NoSuchServer) as error:
        return Answer(422, {"problem": str(error)})


def _answer(sandbox: Sandbox, request: Request) -> Answer:
    match request.method, request.path.removeprefix(CONTROL).rstrip("/"):
        case "GET", "":
            return Answer(200, _overview(sandbox))
        case "GET", "/faults":
            return Answer(200, {"faults": _plain(sandbox.faults())})
        case "POST", "/faults":
            sandbox.order(msgspec.json.decode(request.body, type=Fault))
            return Answer(201, {"faults": _plain(sandbox.faults())})
        case "DELETE", "/faults":
            sandbox.clear_faults()
            return Answer(204)
        case "GET", "/calls":
            return Answer(200, {"calls": _plain(sandbox.calls)})
        case "DELETE", "/calls":
            sandbox.calls.clear()
            return Answer(204)
        case "PUT", "/tokens":
            sandbox.tokens = msgspec.json.decode(request.body, type=dict[str, Right])
            return Answer(204)
        case "POST", "/snapshots":
            asked = msgspec.json.decode(request.body, type=_Snapshot)
            image = sandbox.add_snapshot(asked.labels, asked.architecture, asked.description)
            return Answer(201, {"image": image_json(image)})
        case _:
            return Answer(404, {"problem": f"the sandbox has no {request.method} {request.path}: {_HELP}"})


_HELP: Final = "expected /_sandbox, or /_sandbox/ with faults, calls, tokens or snapshots behind it"


def _overview(sandbox: Sandbox) -> Mapping[str, Any]:
    by_route = Counter(f"{call.method} {call.route}" for call in sandbox.calls)
    return {
        "now": sandbox.account.now.isoformat(),
        "servers": {server.name: server.status for server in sandbox.servers()},
        "faults": _plain(sandbox.faults()),
        "tokens": dict(Counter(sandbox.tokens.values())),
        "calls": dict(sorted(by_route.items())),
    }


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    return msgspec.to_builtins(value)
