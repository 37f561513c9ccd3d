"""Placement groups: up to ten servers, each on another host."""

import msgspec

from growth_lab.hetzner_sandbox.account import Account, check_name_free, found
from growth_lab.hetzner_sandbox.api_errors import invalid, invalid_field
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.names import check_name
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.records import PlacementGroup
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import placement_group_json


class _Create(Body, frozen=True):
    name: str
    type: str
    labels: dict[str, str] | None = None


class _Update(Body, frozen=True):
    name: str | None = None
    labels: dict[str, str] | None = None


def list_groups(account: Account, request: Request) -> Answer:
    """All of them."""
    return listed(
        request,
        "placement_groups",
        account.placement_groups.values(),
        lambda one: placement_group_json(account, one),
        ("name", "type"),
    )


def get_group(account: Account, _: Request, group_id: int) -> Answer:
    """One of them."""
    return _one(account, found(account.placement_groups, group_id, "placement group"))


def create_group(account: Account, request: Request) -> Answer:
    """An empty one."""
    asked = read_body(request, _Create)
    check_name(asked.name)
    check_labels(asked.labels or {})
    if asked.type != "spread":
        raise invalid_field("type", f"{asked.type!r} is not possible: expected 'spread'")
    check_name_free(account.placement_groups, asked.name, "placement group")
    group = PlacementGroup(
        id=account.new_id(), name=asked.name, type=asked.type, created=account.now, labels=asked.labels or {}
    )
    account.placement_groups[group.id] = group
    return Answer(201, {"placement_group": placement_group_json(account, group), "action": None})


def update_group(account: Account, request: Request, group_id: int) -> Answer:
    """Another name, other labels."""
    group, asked = found(account.placement_groups, group_id, "placement group"), read_body(request, _Update)
    if asked.name is not None:
        check_name(asked.name)
        check_name_free(account.placement_groups, asked.name, "placement group", group_id)
        group = msgspec.structs.replace(group, name=asked.name)
    if asked.labels is not None:
        check_labels(asked.labels)
        group = msgspec.structs.replace(group, labels=asked.labels)
    account.placement_groups[group_id] = group
    return _one(account, group)


def delete_group(account: Account, _: Request, group_id: int) -> Answer:
    """An empty one goes."""
    found(account.placement_groups, group_id, "placement group")
    if any(one.placement_group == group_id for one in account.servers.values()):
        raise invalid("placement group is not empty")
    del account.placement_groups[group_id]
    return Answer(204)


def _one(account: Account, group: PlacementGroup) -> Answer:
    return Answer(200, {"placement_group": placement_group_json(account, group)})
