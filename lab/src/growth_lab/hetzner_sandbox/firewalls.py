"""Firewalls, applied to servers by id. Applying them by label is not imitated."""

from typing import Any

import msgspec

from growth_lab.hetzner_sandbox.account import Account, check_name_free, found
from growth_lab.hetzner_sandbox.api_errors import invalid, invalid_field
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.names import check_name
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.records import Firewall, Resource
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import action_json, firewall_json


class _Rule(Body, frozen=True):
    direction: str
    protocol: str
    port: str | None = None
    source_ips: tuple[str, ...] = ()
    destination_ips: tuple[str, ...] = ()
    description: str | None = None


class _Server(Body, frozen=True):
    id: int


class _Target(Body, frozen=True):
    type: str
    server: _Server | None = None


class _Create(Body, frozen=True):
    name: str
    rules: tuple[_Rule, ...] = ()
    apply_to: tuple[_Target, ...] = ()
    labels: dict[str, str] | None = None


class _Update(Body, frozen=True):
    name: str | None = None
    labels: dict[str, str] | None = None


class _Rules(Body, frozen=True):
    rules: tuple[_Rule, ...]


class _Apply(Body, frozen=True):
    apply_to: tuple[_Target, ...]


class _Remove(Body, frozen=True):
    remove_from: tuple[_Target, ...]


def list_firewalls(account: Account, request: Request) -> Answer:
    """All of them."""
    return listed(request, "firewalls", account.firewalls.values(), lambda one: firewall_json(account, one))


def get_firewall(account: Account, _: Request, firewall_id: int) -> Answer:
    """One of them."""
    return _one(account, found(account.firewalls, firewall_id, "firewall"))


def create_firewall(account: Account, request: Request) -> Answer:
    """A firewall, applied at once where that is asked for."""
    asked = read_body(request, _Create)
    check_name(asked.name)
    check_labels(asked.labels or {})
    servers = _servers(account, asked.apply_to)
    check_name_free(account.firewalls, asked.name, "firewall")
    firewall = Firewall(
        id=account.new_id(),
        name=asked.name,
        created=account.now,
        labels=asked.labels or {},
        rules=tuple(map(_rule, asked.rules)),
    )
    account.firewalls[firewall.id] = firewall
    actions = _applied(account, firewall, servers)
    return Answer(201, {"firewall": firewall_json(account, firewall), "actions": actions})


def update_firewall(account: Account, request: Request, firewall_id: int) -> Answer:
    """Another name, other labels."""
    firewall, asked = found(account.firewalls, firewall_id, "firewall"), read_body(request, _Update)
    if asked.name is not None:
        check_name(asked.name)
        check_name_free(account.firewalls, asked.name, "firewall", firewall_id)
        firewall = msgspec.structs.replace(firewall, name=asked.name)
    if asked.labels is not None:
        check_labels(asked.labels)
        firewall = msgspec.structs.replace(firewall, labels=asked.labels)
    account.firewalls[firewall_id] = firewall
    return _one(account, firewall)


def delete_firewall(account: Account, _: Request, firewall_id: int) -> Answer:
    """One that guards nobody goes."""
    found(account.firewalls, firewall_id, "firewall")
    if any(firewall_id in one.firewalls for one in account.servers.values()):
        raise invalid("firewall is still in use")
    del account.firewalls[firewall_id]
    return Answer(204)


def set_rules(account: Account, request: Request, firewall_id: int) -> Answer:
    """Other rules, all of them."""
    firewall, asked = found(account.firewalls, firewall_id, "firewall"), read_body(request, _Rules)
    account.firewalls[firewall_id] = msgspec.structs.replace(firewall, rules=tuple(map(_rule, asked.rules)))
    action = account.begin("set_firewall_rules", [Resource("firewall", firewall_id)], account.timings.other_seconds)
    return Answer(201, {"actions": [action_json(account, action)]})


def apply_to(account: Account, request: Request, firewall_id: int) -> Answer:
    """Guard these servers, too."""
    firewall, asked = found(account.firewalls, firewall_id, "firewall"), read_body(request, _Apply)
    return Answer(201, {"actions": _applied(account, firewall, _servers(account, asked.apply_to))})


def remove_from(account: Account, request: Request, firewall_id: int) -> Answer:
    """Guard these servers no more."""
    firewall, asked = found(account.firewalls, firewall_id, "firewall"), read_body(request, _Remove)
    actions: list[dict[str, Any]] = []
    for server_id in _servers(account, asked.remove_from):
        server = account.servers[server_id]
        account.change(server, firewalls=tuple(one for one in server.firewalls if one != firewall.id))
        actions.append(_began(account, "remove_firewall", firewall.id, server_id))
    return Answer(201, {"actions": actions})


def _applied(account: Account, firewall: Firewall, servers: list[int]) -> list[dict[str, Any]]:
    actions: list[dict[str, Any]] = []
    for server_id in servers:
        server = account.servers[server_id]
        account.change(server, firewalls=tuple(dict.fromkeys([*server.firewalls, firewall.id])))
        actions.append(_began(account, "apply_firewall", firewall.id, server_id))
    return actions


def _began(account: Account, command: str, firewall_id: int, server_id: int) -> dict[str, Any]:
    resources = [Resource("server", server_id), Resource("firewall", firewall_id)]
    return action_json(account, account.begin(command, resources, account.timings.other_seconds))


def _servers(account: Account, targets: tuple[_Target, ...]) -> list[int]:
    found_ids: list[int] = []
    for target in targets:
        if target.type != "server" or target.server is None:
            raise invalid_field("type", f"{target.type!r} is not imitated: expected a server")
        found_ids.append(account.server(target.server.id).id)
    return found_ids


def _rule(rule: _Rule) -> dict[str, Any]:
    if rule.direction not in ("in", "out"):
        raise invalid_field("rules", f"direction {rule.direction!r} is not possible: expected in or out")
    return {
        "direction": rule.direction,
        "protocol": rule.protocol,
        "port": rule.port,
        "source_ips": list(rule.source_ips),
        "destination_ips": list(rule.destination_ips),
        "description": rule.description,
    }


def _one(account: Account, firewall: Firewall) -> Answer:
    return Answer(200, {"firewall": firewall_json(account, firewall)})
