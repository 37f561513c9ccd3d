"""What is there without anybody making it: places, types, prices, images. And one collection that is gone."""

from typing import Final

import msgspec

from growth_lab.hetzner_sandbox.account import Account, found
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid
from growth_lab.hetzner_sandbox.images import image_json
from growth_lab.hetzner_sandbox.locations import LOCATIONS
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.prices import pricing
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import server_type_json
from growth_lab.hetzner_sandbox.server_types import SERVER_TYPES

_ANNOUNCEMENT: Final = "https://docs.hetzner.cloud/changelog#2026-06-02-datacenters-deprecated"
_BY_ID: Final = {place.id: place for place in LOCATIONS.values()}


class _UpdateImage(Body, frozen=True):
    description: str | None = None
    labels: dict[str, str] | None = None


def list_locations(_: Account, request: Request) -> Answer:
    """All places."""
    return listed(request, "locations", LOCATIONS.values(), lambda place: place.json)


def get_location(_: Account, __: Request, location_id: int) -> Answer:
    """One of them."""
    return Answer(200, {"location": found(_BY_ID, location_id, "location").json})


def list_server_types(account: Account, request: Request) -> Answer:
    """All types, with what is to be had of each where."""
    return listed(request, "server_types", SERVER_TYPES.values(), lambda one: server_type_json(account, one))


def get_server_type(account: Account, _: Request, type_id: int) -> Answer:
    """One of them."""
    return Answer(200, {"server_type": server_type_json(account, found(SERVER_TYPES, type_id, "server type"))})


def get_pricing(_: Account, __: Request) -> Answer:
    """What everything costs."""
    return Answer(200, {"pricing": pricing()})


def gone_datacenters(_: Account, __: Request, ___: int = 0) -> Answer:
    """Gone since 2026-10-01."""
    raise Refusal("deprecated_api_endpoint", "the endpoint is no longer available", {"announcement": _ANNOUNCEMENT})


def list_images(account: Account, request: Request) -> Answer:
    """Systems and snapshots; none of them is deprecated, so nothing need be left out."""
    return listed(request, "images", account.images.values(), image_json, ("name", "type", "status", "architecture"))


def get_image(account: Account, _: Request, image_id: int) -> Answer:
    """One of them."""
    return Answer(200, {"image": image_json(found(account.images, image_id, "image"))})


def update_image(account: Account, request: Request, image_id: int) -> Answer:
    """Another description or other labels of a snapshot."""
    image, asked = found(account.images, image_id, "image"), read_body(request, _UpdateImage)
    if image.type == "system":
        raise invalid("system images cannot be changed")
    check_labels(asked.labels or {})
    image = msgspec.structs.replace(
        image,
        description=image.description if asked.description is None else asked.description,
        labels=image.labels if asked.labels is None else asked.labels,
    )
    account.images[image_id] = image
    return Answer(200, {"image": image_json(image)})


def delete_image(account: Account, _: Request, image_id: int) -> Answer:
    """A snapshot goes; servers made of it stay."""
    if found(account.images, image_id, "image").type == "system":
        raise invalid("system images cannot be deleted")
    del account.images[image_id]
    return Answer(204)
