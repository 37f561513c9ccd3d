"""The token: where it comes from, that it is read again, and that nobody ever sees it."""

import asyncio
import logging

import pytest

from growth.cloud.errors import Unauthorized, Unavailable
from growth.cloud.hetzner.secrets import token_from_environment, token_from_secret
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Right
from growth_lab.simulator import served_kinds
from tests.cloud.hetzner.rig import READER, Rig, a_request
from tests.cloud.hetzner.virtual_start import NAMESPACE, VirtualStart
from tests.kube.replica import virtual

SECRET = "growth-hetzner"


async def test_the_environment_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCLOUD_TOKEN", " abc\n")
    assert await token_from_environment()() == "abc"


@pytest.mark.parametrize("text", ["", " \n"])
async def test_no_token_is_told_with_both_ways_to_give_one(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HCLOUD_TOKEN", text)
    with pytest.raises(Unauthorized, match=r"hetzner.tokenSecret in the settings, or the environment variable HCLOUD"):
        await token_from_environment()()


@pytest.mark.parametrize("text", ["secret one", "secret\none", "sécret", "secret\x00"])
async def test_what_cannot_be_a_token_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HCLOUD_TOKEN", text.replace("\x00", "\x01"))
    with pytest.raises(Unauthorized, match="this is no token: expected one line of letters and digits") as refused:
        await token_from_environment()()
    assert "cret" not in str(refused.value)


@virtual
async def test_a_secret_has_it_as_it_is_now() -> None:
    start = VirtualStart({"token": "abc\n"}, name=SECRET)
    read = token_from_secret(start.client(), NAMESPACE, SECRET)
    assert await read() == "abc"
    start.store.delete(served_kinds.SECRETS, SECRET, NAMESPACE)
    with pytest.raises(Unauthorized, match=f"Secret {NAMESPACE}/{SECRET}, key token: there is no such Secret"):
        await read()


@virtual
async def test_a_secret_with_another_key_is_told() -> None:
    start = VirtualStart({"tokn": "abc"}, name=SECRET)
    with pytest.raises(Unauthorized, match="there is no such key: the Secret has tokn") as refused:
        await token_from_secret(start.client(), NAMESPACE, SECRET)()
    assert "abc" not in str(refused.value)


@virtual
async def test_a_token_that_was_rotated_is_taken_over_when_the_old_one_is_refused() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await provider.create(a_request("web-1"))
        rig.sandbox.tokens, rig.token = {"newer": Right.READ_WRITE}, "newer"
        results = await asyncio.gather(*(provider.create(a_request(f"web-{number}")) for number in range(2, 12)))
    assert len(results) == 10
    assert rig.tokens_read == 2, "of many that are refused at once, one reads"


@virtual
async def test_a_token_that_was_rotated_is_taken_over_before_the_old_one_is_refused() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await provider.list()
        rig.sandbox.tokens, rig.token = {TOKEN: Right.READ_WRITE, "newer": Right.READ_WRITE}, "newer"
        await provider.list()
        del rig.sandbox.tokens[TOKEN]
        before = len(rig.sandbox.calls)
        await provider.list()
        assert [call.status for call in rig.sandbox.calls[before:]] == [200]


@virtual
async def test_a_token_that_is_refused_and_is_still_the_same_costs_one_call() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await provider.list()
        rig.sandbox.tokens = {}
        before = len(rig.sandbox.calls)
        with pytest.raises(Unauthorized, match=r"list: unable to authenticate \(unauthorized\)"):
            await provider.list()
        assert len(rig.sandbox.calls) == before + 1


@virtual
async def test_a_token_that_may_only_read_lists_and_does_not_buy() -> None:
    rig = Rig()
    rig.token = READER
    async with rig.opened() as provider:
        assert await provider.list() == ()
        with pytest.raises(Unauthorized, match="token_readonly"):
            await provider.create(a_request())
        rig.token = TOKEN
        await provider.create(a_request())
    assert rig.names == ["web-1"]


@virtual
async def test_while_nobody_can_say_what_the_token_is_the_one_that_is_known_holds() -> None:
    rig = Rig()

    async def silent() -> str:
        raise Unavailable("the API server does not answer", may_have_acted=False)

    async with rig.opened() as provider:
        await provider.list()
        provider._api._read_token = silent  # pyright: ignore[reportPrivateUsage]
        assert await provider.list() == ()
        rig.sandbox.tokens = {}
        with pytest.raises(Unauthorized):
            await provider.list()


@virtual
async def test_without_any_token_the_reason_is_told() -> None:
    rig = Rig()

    async def missing() -> str:
        raise Unauthorized("there is no token")

    async with rig.opened() as provider:
        provider._api._read_token = missing  # pyright: ignore[reportPrivateUsage]
        for ask in (provider.list, provider.offerings):
            with pytest.raises(Unauthorized, match="there is no token"):
                await ask()


def test_the_token_is_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    @virtual
    async def story() -> None:
        rig = Rig()
        rig.token = "t0p-secret"
        async with rig.opened() as provider:
            for ask in (provider.list, lambda: provider.create(a_request()), lambda: provider.delete("7")):
                with pytest.raises(Unauthorized) as refused:
                    await ask()
                told.append(f"{refused.value!r} {refused.value.__cause__!r} {provider!r} {vars(provider)!r}")

    with caplog.at_level(logging.DEBUG):
        story()
    assert "t0p-secret" not in caplog.text
    assert "t0p-secret" not in " ".join(told)
