"""Servers: looking at them, changing them, deleting them. ``server_creation`` makes them."""

import msgspec

from growth_lab.hetzner_sandbox.account import Account, check_name_free
from growth_lab.hetzner_sandbox.api_errors import Refusal
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.names import check_hostname
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.records import Resource, Server, Status
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import action_json, server_json


class _Update(Body, frozen=True):
    name: str | None = None
    labels: dict[str, str] | None = None


def list_servers(account: Account, request: Request) -> Answer:
    """All of them."""
    return listed(
        request, "servers", account.servers.values(), lambda one: server_json(account, one), ("name", "status")
    )


def get_server(account: Account, _: Request, server_id: int) -> Answer:
    """One of them."""
    return Answer(200, {"server": server_json(account, account.server(server_id))})


def update_server(account: Account, request: Request, server_id: int) -> Answer:
    """Another name, other labels: the whole map is replaced."""
    server, asked = account.server(server_id), read_body(request, _Update)
    if asked.name is not None:
        check_hostname(asked.name)
        check_name_free(account.servers, asked.name, "server", server_id)
        server = account.change(server, name=asked.name)
    if asked.labels is not None:
        check_labels(asked.labels)
        server = account.change(server, labels=asked.labels)
    return Answer(200, {"server": server_json(account, server)})


def delete_server(account: Account, _: Request, server_id: int) -> Answer:
    """It goes, its addresses with it; volumes stay, detached."""
    server = account.server(server_id)
    if server.is_protected:
        raise Refusal("protected", "server deletion is protected")
    account.check_unlocked(Resource("server", server_id))
    before = server.status
    account.change(server, status=Status.DELETING)
    action = account.begin(
        "delete_server",
        [Resource("server", server_id)],
        account.timings.delete_seconds,
        lambda: remove(account, server),
        lambda: account.change(server, status=before),
    )
    return Answer(200, {"action": action_json(account, action)})


def remove(account: Account, server: Server) -> None:
    """Nothing is left of it but free volumes; what was under way about it has failed."""
    for action in account.running_on(Resource("server", server.id)):
        account.end(action, ("server_error", "server is gone"))
    for volume in [one for one in account.volumes.values() if one.server == server.id]:
        account.volumes[volume.id] = msgspec.structs.replace(volume, server=None)
    account.promised = {one: owner for one, owner in account.promised.items() if owner != server.id}
    del account.servers[server.id]
