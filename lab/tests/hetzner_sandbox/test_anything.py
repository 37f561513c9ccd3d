"""Whatever is sent, in whatever order and time: an answer comes, errors have their shape, and nothing is half done."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth_lab.hetzner_sandbox.account import last_id_before
from growth_lab.hetzner_sandbox.api_errors import STATUS
from growth_lab.hetzner_sandbox.records import Status
from growth_lab.hetzner_sandbox.routes import every_call
from growth_lab.simulator.clock import BEGINNING
from lab.tests.hetzner_sandbox.box import KEY, Box, Json, wanted

pytestmark = pytest.mark.long

FIRST = last_id_before(BEGINNING) + 1
Drawn = st.SearchStrategy[Any]

# Ids of what is there from the beginning and comes soon, and one that is never there.
IDS: Drawn = st.integers(FIRST, FIRST + 20) | st.just(1)
TEXTS: Drawn = st.sampled_from(["", "a", "b", "web-1", "10.0.0.0/16", "10.0.0.0/24", "10.0.0.7", "spread", "cloud"])
ANYTHING: Drawn = st.one_of(st.none(), st.booleans(), st.integers(-1, 20_000), IDS, TEXTS)
TARGET: Drawn = st.fixed_dictionaries({"type": st.just("server"), "server": st.fixed_dictionaries({"id": IDS})})
FIELDS: dict[str, Drawn] = {
    "name": TEXTS,
    "type": st.sampled_from(["spread", "cloud", "snapshot"]),
    "size": st.integers(5, 50),
    "location": st.sampled_from(["fsn1", "hel1", "ash", "mars"]),
    "server": IDS,
    "server_type": st.sampled_from(["cax11", "cax21", "cx23", "cpx11", 45, "none"]),
    "image": st.sampled_from(["debian-12", "debian-1"]) | IDS,
    "networks": st.lists(IDS, max_size=4),
    "network": IDS,
    "volumes": st.lists(IDS, max_size=3),
    "firewalls": st.lists(st.fixed_dictionaries({"firewall": IDS}), max_size=2),
    "placement_group": IDS,
    "labels": st.dictionaries(TEXTS, TEXTS, max_size=2),
    "ip_range": TEXTS,
    "ip": TEXTS,
    "network_zone": st.sampled_from(["eu-central", "mars"]),
    "public_key": st.sampled_from([KEY, "none"]),
    "upgrade_disk": st.booleans(),
    "delete": st.booleans(),
    "rebuild": st.booleans(),
    "apply_to": st.lists(TARGET, max_size=2),
    "remove_from": st.lists(TARGET, max_size=2),
    "rules": st.lists(st.fixed_dictionaries({"direction": TEXTS, "protocol": TEXTS}), max_size=1),
    "start_after_create": st.booleans(),
}
BODIES: Drawn = st.one_of(
    st.fixed_dictionaries({}, optional=FIELDS), st.dictionaries(st.sampled_from(sorted(FIELDS)), ANYTHING)
)


def usual(name: str, more: Json) -> Json:
    return wanted(name) | more


USUAL: Drawn = st.builds(usual, st.sampled_from("abc"), BODIES)
CALLS: Drawn = st.tuples(
    st.sampled_from(sorted(every_call())),
    st.integers(0, 3),
    st.one_of(BODIES, USUAL),
    st.sampled_from([0.0, 0.4, 3.0]),
)


def furnished() -> Box:
    """One or two of each are there already."""
    box = Box()
    subnet = {"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.0.0/24"}
    box.post("/networks", {"name": "net", "ip_range": "10.0.0.0/16", "subnets": [subnet]})
    box.post("/firewalls", {"name": "wall"})
    box.post("/placement_groups", {"name": "apart", "type": "spread"})
    box.post("/volumes", {"name": "data", "size": 10, "location": "fsn1"})
    box.running("first")
    box.running("second")
    return box


def addressed(box: Box, path: str, which: int) -> str:
    """The path with the id of one that is there, if there is any."""
    table = getattr(box.sandbox.account, path.split("/")[1], {})
    ids = [*table, 1]
    return path.replace("{id}", str(ids[which % len(ids)]))


@settings(max_examples=100, deadline=None)
@given(st.lists(CALLS, max_size=40))
def test_every_call_has_an_answer(calls: list[tuple[tuple[str, str], int, Json, float]]) -> None:
    box = furnished()
    for (method, path), which, body, seconds in calls:
        answer = box.ask(method, addressed(box, path, which), body if method in ("POST", "PUT") else None)
        if answer.status >= 400:
            assert isinstance(answer.body, dict)
            error = answer.body["error"]
            assert set(error) == {"code", "message", "details"}
            assert STATUS[error["code"]] == answer.status
        box.pass_by(seconds)
    box.pass_by(3600)
    check_at_rest(box)


def check_at_rest(box: Box) -> None:
    """When nothing is under way any more, what belongs together fits together."""
    box.sandbox.advance()
    account = box.sandbox.account
    assert account.next_at is None
    assert not any(action.is_running for action in account.actions.values())
    names = [server.name for server in account.servers.values()]
    assert len(names) == len(set(names))
    for server in account.servers.values():
        assert server.status in (Status.RUNNING, Status.OFF)
        assert server.placement_group is None or server.placement_group in account.placement_groups
        assert all(one.network in account.networks for one in server.private_net)
        assert all(one in account.firewalls for one in server.firewalls)
    assert all(one.server is None or one.server in account.servers for one in account.volumes.values())
    for path in ("servers", "volumes", "networks", "firewalls", "placement_groups", "ssh_keys", "images"):
        assert len(box.get(f"/{path}?per_page=50")[path]) == min(50, len(getattr(account, path)))
