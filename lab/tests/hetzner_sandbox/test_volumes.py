"""Volumes are made in a place, hang on one server there, and outlive it."""

from typing import Any

import pytest

from lab.tests.hetzner_sandbox.box import Box, Json, code


def volume(box: Box, name: str = "data", **wishes: Json) -> int:
    body = {"name": name, "size": 10, "location": "fsn1"} | wishes
    made = box.post("/volumes", {key: value for key, value in body.items() if value is not None})
    box.pass_by(1)
    return made["volume"]["id"]


def where(box: Box, volume_id: int) -> int | None:
    return box.get(f"/volumes/{volume_id}")["volume"]["server"]


def test_attach_and_detach_take_time() -> None:
    box = Box()
    server, disk = box.running(), volume(box)
    box.post(f"/volumes/{disk}/actions/attach", {"server": server})
    assert where(box, disk) is None
    box.pass_by(1)
    assert where(box, disk) == server
    assert box.get(f"/servers/{server}")["server"]["volumes"] == [disk]
    box.post(f"/volumes/{disk}/actions/detach")
    box.pass_by(1)
    assert where(box, disk) is None


def test_a_volume_made_for_a_server_hangs_on_it_in_its_place() -> None:
    box = Box()
    server = box.running(location="hel1")
    body = box.post("/volumes", {"name": "data", "size": 10, "server": server, "format": "ext4"})
    assert (body["volume"]["location"]["name"], body["volume"]["format"]) == ("hel1", "ext4")
    assert [action["command"] for action in body["next_actions"]] == ["attach_volume"]
    box.pass_by(1)
    assert where(box, body["volume"]["id"]) == server


def test_two_at_once_are_locked_out() -> None:
    box = Box()
    server, first, second = box.running(), volume(box, "a"), volume(box, "b")
    box.post(f"/volumes/{first}/actions/attach", {"server": server})
    assert code(box.ask("POST", f"/volumes/{second}/actions/attach", {"server": server})) == (423, "locked")


def test_an_attached_volume_goes_nowhere_else_and_stays() -> None:
    box = Box()
    one, other, disk = box.running("a"), box.running("b"), volume(box)
    box.post(f"/volumes/{disk}/actions/attach", {"server": one})
    box.pass_by(1)
    answer = box.ask("POST", f"/volumes/{disk}/actions/attach", {"server": other})
    assert code(answer)[1] == "volume_already_attached"
    assert code(box.ask("DELETE", f"/volumes/{disk}")) == (422, "invalid_input")


def test_power_off_keeps_volumes_and_deletion_frees_them() -> None:
    box = Box()
    server, disk = box.running(), volume(box)
    box.post(f"/volumes/{disk}/actions/attach", {"server": server})
    box.pass_by(1)
    box.post(f"/servers/{server}/actions/poweroff")
    box.pass_by(1)
    assert where(box, disk) == server
    box.ask("DELETE", f"/servers/{server}")
    box.pass_by(1)
    assert where(box, disk) is None
    assert box.ask("DELETE", f"/volumes/{disk}").status == 204


def test_a_server_takes_sixteen() -> None:
    box = Box()
    server = box.running()
    for number in range(16):
        volume(box, f"data-{number}", location=None, server=server)
    answer = box.ask("POST", f"/volumes/{volume(box)}/actions/attach", {"server": server})
    assert code(answer)[1] == "limit_exceeded_error"


def test_a_volume_grows_and_never_shrinks() -> None:
    box = Box()
    disk = volume(box, size=20)
    assert code(box.ask("POST", f"/volumes/{disk}/actions/resize", {"size": 10})) == (422, "invalid_input")
    box.post(f"/volumes/{disk}/actions/resize", {"size": 30})
    box.pass_by(1)
    assert box.get(f"/volumes/{disk}")["volume"]["size"] == 30


@pytest.mark.parametrize(
    "body",
    [
        {"name": "a", "size": 9, "location": "fsn1"},
        {"name": "a", "size": 10241, "location": "fsn1"},
        {"name": "", "size": 10, "location": "fsn1"},
        {"name": "a", "size": 10},
        {"name": "a", "size": 10, "location": "mars"},
        {"name": "a", "size": 10, "server": 1},
    ],
)
def test_what_cannot_be_is_refused(body: dict[str, Any]) -> None:
    assert code(Box().ask("POST", "/volumes", body)) == (422, "invalid_input")


def test_another_place_is_too_far() -> None:
    box = Box()
    server, disk = box.running(), volume(box, location="hel1")
    assert code(box.ask("POST", f"/volumes/{disk}/actions/attach", {"server": server})) == (422, "invalid_input")


def test_names_and_labels_change() -> None:
    box = Box()
    disk = volume(box)
    volume(box, "taken")
    changed = box.ask("PUT", f"/volumes/{disk}", {"name": "logs", "labels": {"a": "b"}}).body
    assert isinstance(changed, dict)
    assert (changed["volume"]["name"], changed["volume"]["labels"]) == ("logs", {"a": "b"})
    assert code(box.ask("PUT", f"/volumes/{disk}", {"name": "taken"})) == (409, "uniqueness_error")
