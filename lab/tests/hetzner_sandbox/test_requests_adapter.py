"""The official client without a socket: the same answers, on any clock."""

from collections.abc import Callable

import pytest
import requests
from hcloud import APIException, Client

from growth_lab.hetzner_sandbox.faults import Lost, Refuse, Slow
from growth_lab.hetzner_sandbox.requests_adapter import ENDPOINT, Adapter
from growth_lab.hetzner_sandbox.sandbox import TOKEN
from lab.tests.hetzner_sandbox.box import Box
from lab.tests.hetzner_sandbox.tours import CAX11, DEBIAN, FSN1, Official


def client_of(box: Box, timeout: float | None = None) -> Official:
    client: Official = Client(TOKEN, api_endpoint=ENDPOINT, timeout=timeout)
    client._client._retry_max_retries = 0
    client._client._session.mount(ENDPOINT, Adapter(box.sandbox, box.pass_by))
    return client


def test_hours_pass_in_no_time() -> None:
    box = Box()
    client = client_of(box)
    made = client.servers.create("web-1", CAX11, DEBIAN, location=FSN1)
    box.pass_by(3600)
    made.server.reload()
    assert made.server.status == "running"
    made.action.wait_until_finished()
    assert [server.name for server in client.servers.get_all(label_selector="!a")] == ["web-1"]


def test_what_goes_wrong_goes_wrong_as_on_a_socket() -> None:
    box = Box()
    expectations: list[tuple[Lost | Refuse | Slow, Callable[[BaseException], bool]]] = [
        (Lost(), lambda error: isinstance(error, requests.ConnectionError)),
        (Refuse(code="unavailable", is_plain=True), lambda error: getattr(error, "code", 0) == 503),
        (Slow(seconds=60), lambda error: isinstance(error, requests.ReadTimeout)),
    ]
    for fault, fits in expectations:
        box.sandbox.order(fault)
        with pytest.raises((requests.RequestException, APIException)) as failed:
            client_of(box, timeout=10).servers.get_all()
        assert fits(failed.value)


def test_a_slow_answer_takes_its_time_from_the_clock() -> None:
    box = Box()
    box.sandbox.order(Slow(seconds=60))
    before = box.now
    assert client_of(box).servers.get_all() == []
    assert (box.now - before).total_seconds() == 60
