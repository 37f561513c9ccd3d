"""From the Secret to the user data of one machine: what is read, what is refused, and that nothing is told."""

import logging
import traceback

import msgspec
import pytest

from growth.cloud.errors import Invalid, ProviderError, RateLimited, Unavailable
from growth.cloud.hetzner.user_data import MOST_BYTES
from growth_lab.simulator import served_kinds
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.hetzner.virtual_start import NAMESPACE, VirtualStart

HUSH = "hush-hush-5f3a"


async def refusal_of(world: VirtualStart, error: type[ProviderError] = Invalid, **asked: str) -> str:
    with pytest.raises(error) as refused:
        await world.renderer().render(world.ask(**asked))
    return str(refused.value)


def test_the_user_data_is_the_text_with_all_put_in() -> None:
    async def scene() -> None:
        world = VirtualStart({"user-data": "#!/bin/sh\njoin __GROWTH_NODE_NAME__ __GROWTH_CLUSTER__ __GROWTH_TAINTS__"})
        told = await world.renderer().render(world.ask())
        assert told == "#!/bin/sh\njoin web-1 shop growth.dev/starting=web-1:NoSchedule"
        assert await world.tokens() == []

    run_virtually(scene())


def test_a_pool_that_names_no_secret_has_no_user_data() -> None:
    async def scene() -> None:
        world = VirtualStart()
        assert await world.renderer().render(msgspec.structs.replace(world.ask(), user_data_secret=None)) == ""

    run_virtually(scene())


def test_the_text_is_read_anew_for_each_machine() -> None:
    async def scene() -> None:
        world = VirtualStart({"user-data": "one"})
        renderer = world.renderer()
        assert await renderer.render(world.ask("web-1")) == "one"
        world.store.patch(served_kinds.SECRETS, "growth-user-data", NAMESPACE, {"data": {"user-data": "dHdv"}})
        assert await renderer.render(world.ask("web-2")) == "two"

    run_virtually(scene())


def test_what_is_missing_is_named() -> None:
    async def scene() -> None:
        assert await refusal_of(VirtualStart()) == (
            "Secret growth-system/growth-user-data, key user-data: there is no such Secret: expected one with this key"
        )
        assert await refusal_of(VirtualStart({"kubeadm": HUSH, "k3s": HUSH})) == (
            "Secret growth-system/growth-user-data, key user-data: there is no such key: the Secret has k3s, kubeadm"
        )
        assert "the Secret has no keys" in await refusal_of(VirtualStart({}))
        assert "key empty: it is empty: expected a text" in await refusal_of(
            VirtualStart({"empty": " \n"}), key="empty"
        )

    run_virtually(scene())


def test_a_secret_that_the_role_does_not_name_is_the_pools_trouble_and_not_the_providers() -> None:
    async def scene() -> None:
        world = VirtualStart({"user-data": HUSH}, name="other")
        assert await refusal_of(world, secret="other") == (
            "Secret growth-system/other, key user-data: the role does not let Growth read it: "
            "expected its name among resourceNames of the Role growth-hetzner in growth-system"
        )

    run_virtually(scene())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"__GROWTH_LABLES__ {HUSH}", "line 1: there is no placeholder __GROWTH_LABLES__: the closest is"),
        (f"{HUSH}{'x' * MOST_BYTES}", "the user data of web-1 has 32782 bytes when everything is put in"),
        (f"__GROWTH_JOIN_TOKEN__{HUSH}{'x' * MOST_BYTES}", "has 32805 bytes when everything is put in"),
        (b"\x1f\x8b\xff" + HUSH.encode(), "it is no text: expected UTF-8, and a binary or compressed file is none"),
    ],
)
def test_what_cannot_be_used_is_refused_without_a_word_of_it(
    text: str | bytes, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        caplog.set_level(logging.DEBUG)
        world = VirtualStart({"user-data": text})
        with pytest.raises(Invalid) as refused:
            await world.renderer().render(world.ask())
        assert words in str(refused.value)
        assert HUSH not in "".join(traceback.format_exception(refused.value))
        assert HUSH not in caplog.text
        assert await world.tokens() == [], "no token is made for what cannot be used"

    run_virtually(scene())


@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.REFUSED, Fault.INTERNAL, Fault.UNAVAILABLE])
def test_an_api_server_in_trouble_is_waited_for(fault: Fault) -> None:
    async def scene() -> None:
        world = VirtualStart({"user-data": HUSH})
        request = world.ask()
        for _ in range(5):
            world.cluster.faults.order(fault, verb="get", resource="secrets")
        with pytest.raises(Unavailable, match="key user-data: ") as refused:
            await world.renderer().render(request)
        assert refused.value.may_have_acted is False
        assert await world.renderer().render(request) == HUSH

    run_virtually(scene())


def test_an_api_server_that_is_asked_too_often_says_when_to_come_back() -> None:
    async def scene() -> None:
        world = VirtualStart({"user-data": HUSH})
        request = world.ask()
        for _ in range(5):
            world.cluster.faults.order(Fault.TOO_MANY, verb="get", resource="secrets")
        with pytest.raises(RateLimited) as refused:
            await world.renderer().render(request)
        assert refused.value.retry_after > 0

    run_virtually(scene())
