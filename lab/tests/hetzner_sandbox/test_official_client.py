"""Hetzner's own client, over a real socket, accepts every answer to every call that the sandbox knows."""

import threading
import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime

import pytest
import requests
from hcloud import APIException, Client
from hcloud.actions import ActionFailedException

from growth_lab.hetzner_sandbox.faults import COMMANDS, ActionFails, Lost, Quota, Refuse, Slow, SoldOut
from growth_lab.hetzner_sandbox.http_server import Door, serving
from growth_lab.hetzner_sandbox.routes import every_call
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Sandbox
from growth_lab.hetzner_sandbox.timings import boots_in
from lab.tests.hetzner_sandbox.tours import CAX11, DEBIAN, FSN1, TOURS, Official, a_server

pytestmark = pytest.mark.long

Tour = Callable[[Official], None]


@pytest.fixture
def door() -> Generator[Door]:
    with serving(Sandbox(lambda: datetime.now(UTC), timings=boots_in(0.02))) as opened:
        yield opened


def client_of(door: Door, token: str = TOKEN) -> Official:
    return Client(token, api_endpoint=door.endpoint, poll_interval=0.005, timeout=10)


@pytest.mark.parametrize("tour", TOURS, ids=lambda tour: tour.__name__)
def test_the_client_understands(tour: Tour, door: Door) -> None:
    tour(client_of(door))


def test_no_call_is_left_out(door: Door) -> None:
    for tour in TOURS:
        tour(client_of(door))
    made = {(call.method, call.route) for call in door.sandbox.calls}
    assert every_call() - made == set()
    assert {action.command for action in door.sandbox.account.actions.values()} == COMMANDS


def test_errors_arrive_by_their_code(door: Door) -> None:
    client = client_of(door)
    door.sandbox.order(Quota(servers=1))
    a_server(client, "only")
    expected = {"only": "uniqueness_error", "one-more": "resource_limit_exceeded", "under_score": "invalid_input"}
    for name, code in expected.items():
        with pytest.raises(APIException) as refused:
            client.servers.create(name, CAX11, DEBIAN, location=FSN1)
        assert refused.value.code == code
    with pytest.raises(APIException) as missing:
        client.servers.get_by_id(1)
    assert missing.value.code == "not_found"
    with pytest.raises(APIException) as stranger:
        client_of(door, "wrong").servers.get_all()
    assert stranger.value.code == "unauthorized"
    with pytest.raises(APIException) as unknown:
        client.request("GET", "/primary_ips")
    assert unknown.value.code == "not_found"


def test_sold_out_in_one_place_is_sold_in_the_next(door: Door) -> None:
    client = client_of(door)
    door.sandbox.order(SoldOut(server_type="cax11", location="fsn1"))
    with pytest.raises(APIException) as refused:
        client.servers.create("web-1", CAX11, DEBIAN, location=FSN1)
    assert (refused.value.code, refused.value.message) == ("resource_unavailable", "error during placement")
    found = client.server_types.get_by_name("cax11")
    assert found
    assert [one.available for one in found.locations] == [False, True, True]


def test_an_answer_that_is_lost_was_worked_for(door: Door) -> None:
    client = client_of(door)
    door.sandbox.order(Lost(method="POST", path="/servers"))
    with pytest.raises(requests.ConnectionError):
        client.servers.create("web-1", CAX11, DEBIAN, location=FSN1)
    assert client.servers.get_by_name("web-1")


def test_a_proxy_in_between_gives_a_number_for_a_code(door: Door) -> None:
    door.sandbox.order(Refuse(code="unavailable", is_plain=True))
    with pytest.raises(APIException) as refused:
        client_of(door).servers.get_all()
    assert refused.value.code == 503


def test_an_action_fails_with_its_reason(door: Door) -> None:
    client = client_of(door)
    door.sandbox.order(ActionFails(command="create_server", code="placement_error", message="no host"))
    made = client.servers.create("web-1", CAX11, DEBIAN, location=FSN1)
    with pytest.raises(ActionFailedException, match="no host"):
        made.action.wait_until_finished()


def test_a_slow_answer_holds_nobody_else_up(door: Door) -> None:
    door.sandbox.order(Slow(seconds=0.3, path="/locations"))
    slow = threading.Thread(target=client_of(door).locations.get_all)
    slow.start()
    while not door.gate.now:
        time.sleep(0.001)
    client_of(door).servers.get_all()
    assert slow.is_alive()
    slow.join()
    assert door.gate.most == 2


def test_many_threads_make_exactly_what_they_ask_for(door: Door) -> None:
    client = client_of(door)

    def create(number: int) -> None:
        client.servers.create(f"web-{number}", CAX11, DEBIAN, location=FSN1)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.name for one in client.servers.get_all()} == {f"web-{number}" for number in range(16)}


def test_json_is_said_to_be_json(door: Door) -> None:
    answer = requests.get(f"{door.endpoint}/locations", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=5)
    assert answer.headers["Content-Type"].startswith("application/json")
    assert int(answer.headers["RateLimit-Remaining"]) >= 3598


def test_faults_are_ordered_by_http_without_a_token(door: Door) -> None:
    order = {"kind": "refuse", "code": "server_error", "path": "/servers"}
    assert requests.post(f"{door.control}/faults", json=order, timeout=5).status_code == 201
    with pytest.raises(APIException) as refused:
        client_of(door).servers.get_all()
    assert refused.value.code == "server_error"
    assert requests.get(door.control, timeout=5).json()["calls"] == {"GET /servers": 1}
