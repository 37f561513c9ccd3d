"""Looking at actions: one, several by their ids, and all that are about one thing or one kind of things."""

from collections.abc import Collection, Iterable, Mapping

from growth_lab.hetzner_sandbox.account import Account
from growth_lab.hetzner_sandbox.api_errors import invalid_field, not_found
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.records import Action
from growth_lab.hetzner_sandbox.response_bodies import action_json


def get_action(account: Account, _: Request, action_id: int) -> Answer:
    """One action, also when what it was about is gone."""
    if action_id not in account.actions:
        raise not_found("action")
    return Answer(200, {"action": action_json(account, account.actions[action_id])})


def list_actions(account: Account, request: Request) -> Answer:
    """Those whose ids are given; a list of all is not to be had any more."""
    ids = request.values("id")
    if not ids or not all(one.isdecimal() for one in ids):
        raise invalid_field("id", "is required: expected ids of actions")
    return _listed(account, request, (account.actions[int(one)] for one in ids if int(one) in account.actions))


def list_actions_about(account: Account, request: Request, resource_id: int | None = None, *, kind: str) -> Answer:
    """Those about things of a kind, or about one of them, which must be there."""
    tables: Mapping[str, Collection[int]] = {
        "server": account.servers,
        "volume": account.volumes,
        "network": account.networks,
        "firewall": account.firewalls,
    }
    if resource_id is not None and resource_id not in tables[kind]:
        raise not_found(kind)
    about = (
        action
        for action in account.actions.values()
        if any(one.type == kind and resource_id in (None, one.id) for one in action.resources)
    )
    return _listed(account, request, about)


def _listed(account: Account, request: Request, actions: Iterable[Action]) -> Answer:
    return listed(request, "actions", actions, lambda one: action_json(account, one), ("status",))
