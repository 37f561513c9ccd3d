"""A ``Send`` that answers from a script, for everything that stands on the port but needs no server's state."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from growth.kube.transport import Request, Response
from tests.builders import Json, a_status

Answer = Response | Exception


class Scripted:
    """Gives one answer after the other, and remembers what was asked and when, on the loop's clock."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.is_closed = False

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        self.times.append(self.clock())
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator["ScriptedStream"]:
        yield ScriptedStream(await self.send(request))

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    async def close(self) -> None:
        self.is_closed = True

    @property
    def bodies(self) -> list[object]:
        """What was sent, read again."""
        return [json.loads(request.body) for request in self.requests]

    @property
    def queries(self) -> list[dict[str, str]]:
        """What was asked for in the query of each request."""
        return [dict(request.query) for request in self.requests]


class ScriptedStream:
    """A whole body as a stream of one batch."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._body = response.body

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        yield self._body.splitlines()

    async def body(self) -> bytes:
        return self._body


def ok(value: Json | Sequence[Json]) -> Response:
    """A success with this body."""
    return Response(200, json.dumps(value).encode())


def no(
    code: int, reason: str = "", message: str = "", *, retry_after: int = 0, headers: Mapping[str, str] | None = None
) -> Response:
    """A refusal in the API server's own form."""
    body = json.dumps(a_status(code, reason, message, retry_after=retry_after)).encode()
    return Response(code, body, headers or {})


def dice(seed: int) -> random.Random:
    """Chance that is the same in every run."""
    return random.Random(seed)  # noqa: S311 - no secret
