"""Volumes: made in a place, attached to one server there, detached, made larger, deleted."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from growth_lab.hetzner_sandbox.account import Account, check_name_free, found
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid, invalid_field
from growth_lab.hetzner_sandbox.locations import LOCATIONS
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.names import check_name
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.records import Action, Resource, Volume
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import action_json, volume_json

_LEAST_GB: Final = 10
_MOST_GB: Final = 10_240
_MOST_ON_A_SERVER: Final = 16


class _Create(Body, frozen=True):
    name: str
    size: int
    location: int | str | None = None
    server: int | None = None
    format: str | None = None
    automount: bool = False
    labels: dict[str, str] | None = None


class _Update(Body, frozen=True):
    name: str | None = None
    labels: dict[str, str] | None = None


class _Attach(Body, frozen=True):
    server: int
    automount: bool = False


class _Resize(Body, frozen=True):
    size: int


def list_volumes(account: Account, request: Request) -> Answer:
    """All of them."""
    return listed(request, "volumes", account.volumes.values(), volume_json, ("name", "status"))


def get_volume(account: Account, _: Request, volume_id: int) -> Answer:
    """One of them."""
    return _one(found(account.volumes, volume_id, "volume"))


def create_volume(account: Account, request: Request) -> Answer:
    """A volume in a place, or attached to a server and where that one is."""
    asked = read_body(request, _Create)
    check_name(asked.name)
    check_labels(asked.labels or {})
    if not _LEAST_GB <= asked.size <= _MOST_GB:
        raise invalid_field("size", f"{asked.size} is not possible: expected from {_LEAST_GB} to {_MOST_GB} GB")
    location = _location(account, asked)
    check_name_free(account.volumes, asked.name, "volume")
    volume = Volume(
        id=account.new_id(),
        name=asked.name,
        size_gb=asked.size,
        location=location,
        created=account.now,
        labels=asked.labels or {},
        format=asked.format,
    )
    if asked.server is not None:
        check_room_for_volumes(account, [volume], location, asked.server)
    account.volumes[volume.id] = volume
    create = account.begin("create_volume", [Resource("volume", volume.id)], account.timings.other_seconds)
    following = [] if asked.server is None else [_attach(account, volume, asked.server)]
    body: dict[str, Any] = {
        "volume": volume_json(volume),
        "action": action_json(account, create),
        "next_actions": [action_json(account, one) for one in following],
    }
    return Answer(201, body)


def update_volume(account: Account, request: Request, volume_id: int) -> Answer:
    """Another name, other labels."""
    volume, asked = found(account.volumes, volume_id, "volume"), read_body(request, _Update)
    if asked.name is not None:
        check_name(asked.name)
        check_name_free(account.volumes, asked.name, "volume", volume_id)
        volume = msgspec.structs.replace(volume, name=asked.name)
    if asked.labels is not None:
        check_labels(asked.labels)
        volume = msgspec.structs.replace(volume, labels=asked.labels)
    account.volumes[volume_id] = volume
    return _one(volume)


def delete_volume(account: Account, _: Request, volume_id: int) -> Answer:
    """Gone at once, if no server has it."""
    volume = found(account.volumes, volume_id, "volume")
    account.check_unlocked(Resource("volume", volume_id))
    if volume.server is not None:
        raise invalid("volume is still attached to a server")
    del account.volumes[volume_id]
    return Answer(204)


def attach(account: Account, request: Request, volume_id: int) -> Answer:
    """To a server of the same place that has room."""
    volume, asked = found(account.volumes, volume_id, "volume"), read_body(request, _Attach)
    if asked.server not in account.servers:
        raise invalid("server not found")
    account.check_unlocked(Resource("volume", volume_id))
    account.check_unlocked(Resource("server", asked.server))
    check_room_for_volumes(account, [volume], account.servers[asked.server].location, asked.server)
    return _began(account, _attach(account, volume, asked.server))


def detach(account: Account, _: Request, volume_id: int) -> Answer:
    """From its server."""
    volume = found(account.volumes, volume_id, "volume")
    if volume.server is None:
        raise invalid("volume is not attached")
    resources = [Resource("volume", volume_id), Resource("server", volume.server)]
    for resource in resources:
        account.check_unlocked(resource)
    action = account.begin("detach_volume", resources, account.timings.other_seconds, put_volume(account, volume, None))
    return _began(account, action)


def resize(account: Account, request: Request, volume_id: int) -> Answer:
    """Larger, never smaller."""
    volume, asked = found(account.volumes, volume_id, "volume"), read_body(request, _Resize)
    if not volume.size_gb < asked.size <= _MOST_GB:
        raise invalid_field("size", f"{asked.size} is not possible: expected more than {volume.size_gb} GB")
    account.check_unlocked(Resource("volume", volume_id))

    def grow() -> None:
        account.volumes[volume_id] = msgspec.structs.replace(account.volumes[volume_id], size_gb=asked.size)

    action = account.begin("resize_volume", [Resource("volume", volume_id)], account.timings.other_seconds, grow)
    return _began(account, action)


def check_room_for_volumes(
    account: Account, volumes: Sequence[Volume], location: str, server: int | None = None
) -> None:
    """Whether these can be attached to a server there, beside those that it has."""
    if any(one.server is not None for one in volumes):
        raise Refusal("volume_already_attached", "volume is already attached")
    if any(one.location != location for one in volumes):
        raise invalid("volume must be in the same location as the server")
    there = sum(one.server == server for one in account.volumes.values()) if server is not None else 0
    if there + len(volumes) > _MOST_ON_A_SERVER:
        raise Refusal("limit_exceeded_error", f"server cannot have more than {_MOST_ON_A_SERVER} volumes")


def put_volume(account: Account, volume: Volume, server: int | None) -> Callable[[], None]:
    """What happens when an action has attached or detached it."""

    def happen() -> None:
        if volume.id in account.volumes:
            account.volumes[volume.id] = msgspec.structs.replace(account.volumes[volume.id], server=server)

    return happen


def _attach(account: Account, volume: Volume, server: int) -> Action:
    resources = [Resource("volume", volume.id), Resource("server", server)]
    return account.begin("attach_volume", resources, account.timings.other_seconds, put_volume(account, volume, server))


def _location(account: Account, asked: _Create) -> str:
    if (asked.server is None) == (asked.location is None):
        raise invalid("exactly one of server and location is expected")
    if asked.server is not None:
        if asked.server not in account.servers:
            raise invalid("server not found")
        return account.servers[asked.server].location
    for place in LOCATIONS.values():
        if asked.location in (place.id, place.name, str(place.id)):
            return place.name
    raise invalid("location not found")


def _one(volume: Volume) -> Answer:
    return Answer(200, {"volume": volume_json(volume)})


def _began(account: Account, action: Action) -> Answer:
    return Answer(201, {"action": action_json(account, action)})
