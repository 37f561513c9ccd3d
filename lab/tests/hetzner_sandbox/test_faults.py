"""Each fault does what it says, to whom it says, as often as it says."""

import pytest

from growth_lab.hetzner_sandbox.faults import (
    ActionFails,
    CutOff,
    Fault,
    Lost,
    PowerCut,
    Quota,
    Refuse,
    Slow,
    SoldOut,
    Vanish,
)
from growth_lab.hetzner_sandbox.sandbox import LOST, NoSuchServer
from lab.tests.hetzner_sandbox.box import Box, code, message, wanted


def box_with(*faults: Fault) -> Box:
    box = Box()
    for fault in faults:
        box.sandbox.order(fault)
    return box


def test_an_error_comes_instead_of_the_work() -> None:
    box = box_with(Refuse(code="server_error", method="POST", path="/servers"))
    assert box.get("/servers")["servers"] == []
    assert code(box.ask("POST", "/servers", wanted())) == (500, "server_error")
    assert box.get("/servers")["servers"] == []
    box.create()


def test_an_error_may_come_after_the_work() -> None:
    box = box_with(Refuse(code="timeout", path="/servers", works=True))
    assert code(box.ask("POST", "/servers", wanted())) == (504, "timeout")
    assert len(box.get("/servers")["servers"]) == 1


def test_a_proxy_answers_without_json() -> None:
    answer = box_with(Refuse(code="bad_gateway", is_plain=True)).ask("GET", "/servers")
    assert (answer.status, answer.body) == (502, "<html>ordered by the sandbox</html>")


def test_some_are_spared_and_then_so_many_are_hit() -> None:
    box = box_with(Refuse(code="unavailable", path="/servers/*", skip=1, times=2))
    server = box.running()
    statuses = [box.ask("GET", f"/servers/{server}").status for _ in range(5)]
    assert statuses == [200, 503, 503, 200, 200]
    assert box.sandbox.faults() == []


def test_a_lost_answer_had_its_work_done_unless_ordered_otherwise() -> None:
    box = box_with(Lost(method="POST", path="/servers"))
    assert box.ask("POST", "/servers", wanted("a")).is_lost
    assert code(box.ask("POST", "/servers", wanted("a"))) == (409, "uniqueness_error")
    box.sandbox.order(Lost(method="post", path="/servers", works=False))
    assert box.ask("POST", "/servers", wanted("b")).is_lost
    assert [call.status for call in box.sandbox.calls] == [LOST, 409, LOST]
    assert [server.name for server in box.sandbox.servers()] == ["a"]


def test_a_slow_answer_is_the_right_one() -> None:
    box = box_with(Slow(seconds=30, path="/locations"))
    assert box.ask("GET", "/servers").delay_seconds == 0
    answer = box.ask("GET", "/locations")
    assert (answer.status, answer.delay_seconds) == (200, 30)


def test_an_answer_can_be_slow_and_then_wrong() -> None:
    box = box_with(Refuse(code="timeout"), Slow(seconds=30))
    answer = box.ask("POST", "/servers", wanted())
    assert (answer.status, answer.delay_seconds) == (504, 30)
    assert box.sandbox.servers() == []


def test_a_code_that_the_api_does_not_have_cannot_be_ordered() -> None:
    with pytest.raises(ValueError, match="code 'teapot' is no error of the API: expected one of already_in_"):
        Refuse(code="teapot")


def test_what_nobody_knows_cannot_be_sold_out_or_fail() -> None:
    with pytest.raises(ValueError, match="server_type 'cx11' is not there: expected one of cpx11, "):
        SoldOut(server_type="cx11")
    with pytest.raises(ValueError, match="location 'mars' is not there: expected one of fsn1, nbg1, "):
        SoldOut(server_type="cax11", location="mars")
    with pytest.raises(ValueError, match="location 'mars' is not there: expected one of fsn1, nbg1, "):
        CutOff(location="mars")
    with pytest.raises(ValueError, match="command 'poweron' is no action: expected one of add_subnet, "):
        ActionFails(command="poweron")


def test_a_create_is_accepted_and_fails_half_way() -> None:
    box = box_with(ActionFails(command="create_server", code="placement_error", message="no host"))
    body = box.create()
    box.pass_by(0.9)
    assert box.action(body["action"]["id"])["status"] == "running"
    box.pass_by(0.2)
    failed = box.action(body["action"]["id"])
    assert (failed["status"], failed["error"]) == ("error", {"code": "placement_error", "message": "no host"})
    assert box.action(body["next_actions"][0]["id"])["status"] == "error"
    assert box.status(body["server"]["id"]) == "off"
    box.pass_by(60)
    assert box.status(body["server"]["id"]) == "off"
    assert box.ask("DELETE", f"/servers/{body['server']['id']}").status == 200


def test_a_start_that_fails_leaves_a_created_server_off() -> None:
    box = box_with(ActionFails(command="start_server"))
    body = box.create()
    box.pass_by(60)
    assert box.action(body["action"]["id"])["status"] == "success"
    assert box.action(body["next_actions"][0]["id"])["status"] == "error"
    assert box.status(body["server"]["id"]) == "off"


def test_a_power_off_that_fails_leaves_it_running() -> None:
    box = box_with(ActionFails(command="stop_server", skip=0, times=1))
    server = box.running()
    box.post(f"/servers/{server}/actions/poweroff")
    box.pass_by(1)
    assert box.status(server) == "running"


def test_only_the_second_of_three_fails() -> None:
    box = box_with(ActionFails(command="create_server", skip=1))
    made = [box.create(name)["server"]["id"] for name in ("a", "b", "c")]
    box.pass_by(5)
    assert [box.status(one) for one in made] == ["running", "off", "running"]


def test_a_server_vanishes_with_all_that_was_under_way() -> None:
    box = Box()
    body = box.create()
    box.pass_by(1)
    box.sandbox.order(Vanish(server="web-1"))
    assert code(box.ask("GET", f"/servers/{body['server']['id']}")) == (404, "not_found")
    assert box.action(body["action"]["id"])["status"] == "error"
    box.pass_by(60)
    assert box.sandbox.servers() == []


def test_power_is_cut_and_can_be_switched_on_again() -> None:
    box = Box()
    server = box.running()
    box.sandbox.order(PowerCut(server=str(server)))
    assert (box.status(server), box.get(f"/servers/{server}")["server"]["locked"]) == ("off", False)
    box.post(f"/servers/{server}/actions/poweron")
    box.pass_by(3)
    assert box.status(server) == "running"


def test_power_that_is_cut_while_it_boots_stays_off() -> None:
    box = Box()
    server = box.create()["server"]["id"]
    box.pass_by(3)
    box.sandbox.order(PowerCut(server="web-1"))
    box.pass_by(60)
    assert box.status(server) == "off"


def test_a_server_that_is_not_there_cannot_be_hurt() -> None:
    for fault in (Vanish(server="web-9"), PowerCut(server="7")):
        with pytest.raises(NoSuchServer, match="there is no server '"):
            Box().sandbox.order(fault)


def test_all_is_well_when_the_faults_are_cleared() -> None:
    box = box_with(
        SoldOut(server_type="*"),
        Quota(servers=0),
        CutOff(server="web-1"),
        Refuse(code="conflict"),
        ActionFails(command="create_image"),
    )
    assert len(box.sandbox.faults()) == 5
    box.sandbox.clear_faults()
    assert box.sandbox.faults() == []
    box.create()


def test_the_newest_word_on_stock_counts() -> None:
    box = box_with(SoldOut(server_type="*"), SoldOut(server_type="CAX11", location="hel1", left=5))
    assert code(box.ask("POST", "/servers", wanted())) == (412, "resource_unavailable")
    box.create(location="hel1")


def test_a_fault_says_its_own_words() -> None:
    box = box_with(Refuse(code="maintenance", message="we are back at five"))
    assert message(box.ask("GET", "/servers")) == "we are back at five"
