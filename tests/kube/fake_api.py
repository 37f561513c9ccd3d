"""An API server small enough to trust: objects by path, resource versions, preconditions, merge and JSON patches."""

import itertools
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import msgspec

from growth.kube.errors import Fenced
from growth.kube.patches import JsonPatch
from growth.kube.transport import Method, Request, Response, Stream
from growth_lab.simulator.api.error_responses import Refusal
from growth_lab.simulator.api.json_patch import patched

Object = dict[str, Any]


class FakeApi:
    """What the server stores. Like the real one, a patch that changes nothing writes nothing."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.version = 0
        self._uids = itertools.count(1)

    def put(self, path: str, body: Object) -> Object:
        self.version += 1
        metadata = {"uid": f"uid-{next(self._uids)}", **body.get("metadata", {}), "resourceVersion": str(self.version)}
        self.objects[path] = {**body, "metadata": metadata}
        return self.objects[path]

    def handle(self, request: Request) -> Response:
        match request.method:
            case Method.POST:
                body = msgspec.json.decode(request.body, type=Object)
                path = f"{request.path}/{body['metadata']['name']}"
                if path in self.objects:
                    return _refusal(409, "AlreadyExists")
                return _success(self.put(path, body), 201)
            case _ if request.path not in self.objects:
                return _refusal(404, "NotFound")
            case Method.PATCH:
                return self._patch(request)
            case Method.DELETE:
                return _success(self.objects.pop(request.path))
            case _:
                return _success(self.objects[request.path])

    def _patch(self, request: Request) -> Response:
        before = self.objects[request.path]
        if request.content_type == JsonPatch.content_type:
            return self._edit(request, before)
        patch = msgspec.json.decode(request.body, type=Object)
        wanted = patch.get("metadata", {}).get("resourceVersion")
        if wanted not in (None, before["metadata"]["resourceVersion"]):
            return _refusal(409, "Conflict")
        after = _merged(before, patch)
        return _success(before if after == before else self.put(request.path, after))

    def _edit(self, request: Request, before: Object) -> Response:
        try:
            after = patched(before, msgspec.json.decode(request.body, type=list[Object]))
        except Refusal as refusal:
            return _refusal(refusal.code, refusal.reason, refusal.message)
        return _success(before if after == before else self.put(request.path, after))


def _merged(before: Object, patch: Object) -> Object:
    """RFC 7386: null removes, objects merge, everything else replaces."""
    merged = dict(before)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merged(merged.get(key) or {}, cast("Object", value))
        else:
            merged[key] = value
    return merged


def _success(body: Object, status: int = 200) -> Response:
    return Response(status, msgspec.json.encode(body))


def _refusal(status: int, reason: str, message: str = "") -> Response:
    body = {"kind": "Status", "code": status, "reason": reason, "message": message}
    return Response(status, msgspec.json.encode(body))


async def _nothing(_: Request) -> None:
    pass


class FakeSend:
    """The way to a ``FakeApi``. ``before`` and ``after`` may wait or raise: what happens on the way there and back."""

    def __init__(self, api: FakeApi, clock: Callable[[], float]) -> None:
        self.api = api
        self.sent: list[Request] = []
        self.before: Callable[[Request], Awaitable[None]] = _nothing
        self.after: Callable[[Request], Awaitable[None]] = _nothing
        self._clock = clock

    async def send(self, request: Request) -> Response:
        await self.before(request)
        if request.not_after is not None and self._clock() >= request.not_after:
            raise Fenced(f"{request.method} {request.path} was not sent")
        self.sent.append(request)
        response = self.api.handle(request)
        await self.after(request)
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError("nothing here is watched")

    def clock(self) -> float:
        return self._clock()

    async def close(self) -> None:
        pass
