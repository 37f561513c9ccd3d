"""From servers to machines: whose they are, and what their status proves."""

from datetime import UTC, datetime
from typing import Final

import msgspec
import pytest

from growth.api.machine import Machine, Power
from growth.cloud.errors import Invalid
from growth.cloud.hetzner.machine_decoding import check_is_asked_for, labels_for, machine_from, number_of, reading_from
from growth.cloud.hetzner.wire import Named, Server
from tests.cloud.hetzner.rig import a_request, an_offering

MADE, NOW = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)
REQUEST: Final = a_request("web-1")
SERVER: Final = Server(42, "web-1", "running", MADE, labels_for(REQUEST, "shop"), Named(45, "cax11"), Named(1, "fsn1"))


def test_a_server_is_a_machine() -> None:
    assert machine_from(SERVER, NOW) == Machine(
        id="42",
        provider_id="hcloud://42",
        name="web-1",
        offering="hetzner-cax11-fsn1",
        pool="web",
        created_at=MADE,
        power=Power.ON,
        read_at=NOW,
    )


def test_labels_say_cluster_pool_request_and_offering() -> None:
    assert labels_for(REQUEST, "shop") == {
        "growth.dev/cluster": "shop",
        "growth.dev/pool": "web",
        "growth.dev/request": "web-1",
        "growth.dev/offering": "hetzner-cax11-fsn1",
    }


@pytest.mark.parametrize(
    ("status", "power", "is_changing"),
    [
        ("initializing", Power.STARTING, True),
        ("starting", Power.STARTING, True),
        ("running", Power.ON, False),
        ("stopping", Power.STOPPING, True),
        ("off", Power.OFF, False),
        ("deleting", Power.STOPPING, True),
        ("rebuilding", Power.UNKNOWN, True),
        ("migrating", Power.UNKNOWN, True),
        ("unknown", Power.UNKNOWN, True),
        ("a word of next year", Power.UNKNOWN, True),
    ],
)
def test_a_status_is_told_as_power(status: str, power: Power, is_changing: bool) -> None:  # noqa: FBT001
    reading = reading_from(msgspec.structs.replace(SERVER, status=status), NOW)
    assert (reading.power, reading.is_changing, reading.read_at) == (power, is_changing, NOW)


def test_off_proves_nothing_while_an_action_runs() -> None:
    assert reading_from(msgspec.structs.replace(SERVER, status="off", locked=True), NOW).is_changing


def test_the_server_that_is_asked_for_is_handed_out() -> None:
    check_is_asked_for(SERVER, REQUEST, "shop")


@pytest.mark.parametrize(
    ("server", "sentence"),
    [
        pytest.param(
            msgspec.structs.replace(SERVER, labels={}), "without the label growth.dev/cluster", id="a person's server"
        ),
        pytest.param(
            msgspec.structs.replace(SERVER, labels=labels_for(REQUEST, "attic")),
            "of the cluster 'attic'",
            id="another cluster's server",
        ),
        pytest.param(
            msgspec.structs.replace(SERVER, labels=labels_for(a_request("web-1", pool="db"), "shop")),
            "for the pool 'db'",
            id="another pool's server",
        ),
        pytest.param(
            msgspec.structs.replace(SERVER, labels=labels_for(a_request("web-1", an_offering("cax21")), "shop")),
            "bought as hetzner-cax21-fsn1",
            id="bought as something else",
        ),
        pytest.param(
            msgspec.structs.replace(SERVER, server_type=Named(93, "cax21")), "a cax21 in fsn1", id="changed since then"
        ),
        pytest.param(
            msgspec.structs.replace(SERVER, location=Named(2, "nbg1")), "a cax11 in nbg1", id="in another place"
        ),
    ],
)
def test_another_server_of_this_name_is_never_handed_out(server: Server, sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence):
        check_is_asked_for(server, REQUEST, "shop")


@pytest.mark.parametrize(
    ("machine_id", "number"),
    [("42", 42), ("0", None), ("-1", None), ("", None), ("web-1", None), ("4²", None), ("1" * 19, None)],
)
def test_what_is_no_number_is_no_server(machine_id: str, number: int | None) -> None:
    assert number_of(machine_id) == number
