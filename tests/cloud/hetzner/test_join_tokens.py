"""Join tokens: one per NodeRequest, short-lived, and gone with it."""

import asyncio
import re
import traceback
from datetime import timedelta

import msgspec
import pytest

from growth.api.kinds import SECRETS
from growth.api.timestamp import parse_timestamp
from growth.cloud.errors import Invalid, Unavailable
from growth.cloud.hetzner.join_tokens import LIFETIME, STAND_IN, JoinTokens, token_id
from growth.kube.errors import Forbidden
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.hetzner.virtual_start import NODE_REQUESTS, VirtualStart

SHAPE = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
TEXT = {"user-data": "token: __GROWTH_JOIN_TOKEN__"}


async def token_of(world: VirtualStart, name: str = "web-1") -> str:
    return (await world.renderer().render(world.ask(name))).removeprefix("token: ")


def test_the_token_is_the_one_that_kubernetes_knows_and_belongs_to_the_request() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        shape = SHAPE.fullmatch(await token_of(world))
        assert shape is not None
        (secret,) = (await world.cluster.admin().list(SECRETS, "kube-system")).items
        assert secret.metadata.name == f"bootstrap-token-{shape[1]}"
        assert secret.type == "bootstrap.kubernetes.io/token"
        (owner,) = secret.metadata.owner_references
        made = world.store.get(NODE_REQUESTS, "web-1")
        assert made is not None
        assert (owner.api_version, owner.kind, owner.name) == ("growth.dev/v1alpha1", "NodeRequest", "web-1")
        assert owner.uid == made["metadata"]["uid"]
        (written,) = await world.tokens()
        expires_at = parse_timestamp(written.pop("expiration"))
        assert timedelta(minutes=59) < expires_at - world.clock.now() <= LIFETIME
        assert written == {
            "token-id": shape[1],
            "token-secret": shape[2],
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
            "description": "Growth: for the node web-1 to join",
        }

    run_virtually(scene())


def test_the_token_goes_with_its_request() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        await token_of(world, "web-1")
        kept = await token_of(world, "web-2")
        world.store.delete(NODE_REQUESTS, "web-1")
        await asyncio.sleep(1)
        assert [f"{one['token-id']}.{one['token-secret']}" for one in await world.tokens()] == [kept]

    run_virtually(scene())


def test_each_request_has_a_token_of_its_own() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        tokens = [await token_of(world, f"web-{number}") for number in range(20)]
        assert len(set(tokens)) == len({token[:6] for token in tokens}) == len({token[7:] for token in tokens}) == 20

    run_virtually(scene())


def test_a_purchase_that_is_tried_again_uses_its_token_again_as_long_as_it_is_fresh() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        renderer, request = world.renderer(), world.ask()
        first = await renderer.render(request)
        await asyncio.sleep(40 * 60)
        assert await renderer.render(request) == first
        await asyncio.sleep(6 * 60)
        assert await renderer.render(request) != first, "a server that boots slowly needs most of the hour"
        assert len(await world.tokens()) == 2

    run_virtually(scene())


def test_a_process_that_is_stopped_after_it_made_a_token_leaves_one_and_the_next_makes_another() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        request = world.ask()
        tokens = [await world.renderer().render(request) for _ in range(3)]
        assert len(set(tokens)) == 3
        expected = sorted(token_id(request.uid, attempt) for attempt in range(3))
        assert sorted(one["token-id"] for one in await world.tokens()) == expected

    run_virtually(scene())


def test_a_token_whose_answer_was_lost_is_not_used_and_the_next_has_another_name() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        request = world.ask()
        world.cluster.faults.order(Fault.LOST, verb="create", resource="secrets")
        with pytest.raises(Unavailable, match="join token for web-1: ") as refused:
            await world.renderer().render(request)
        assert refused.value.may_have_acted is False, "no machine was asked for"
        token = (await world.renderer().render(request)).removeprefix("token: ")
        assert token.startswith(token_id(request.uid, 1))
        assert len(await world.tokens()) == 2

    run_virtually(scene())


def test_the_right_to_create_is_enough_and_none_to_read() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        token = await token_of(world)
        with pytest.raises(Forbidden):
            await world.client().get(SECRETS, f"bootstrap-token-{token[:6]}", "kube-system")
        with pytest.raises(Forbidden):
            await world.client().list(SECRETS, "kube-system")
        with pytest.raises(Forbidden):
            await world.client().list(SECRETS, "growth-system")
        with pytest.raises(Forbidden):
            await world.client().delete(SECRETS, f"bootstrap-token-{token[:6]}", "kube-system")

    run_virtually(scene())


def test_without_the_right_the_pool_is_told_which_role_is_missing() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        stranger = JoinTokens(world.cluster.client("stranger"), world.clock.now)
        with pytest.raises(Invalid) as refused:
            await stranger.token_for(world.ask())
        assert "web-1: no join token can be made: the role lacks the verb 'create' on secrets" in str(refused.value)
        assert "expected the Role growth-hetzner in kube-system" in str(refused.value)

    run_virtually(scene())


def test_a_machine_of_no_request_gets_none() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        with pytest.raises(Invalid, match="web-1: a join token belongs to a NodeRequest: expected the uid of one"):
            await world.renderer().render(msgspec.structs.replace(world.ask(), uid=""))

    run_virtually(scene())


def test_who_fails_for_ever_does_not_fill_the_cluster_with_tokens() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        request = world.ask()
        for _ in range(32):
            await world.renderer().render(request)
        with pytest.raises(Unavailable, match="web-1: 32 join tokens were made for it already"):
            await world.renderer().render(request)
        assert len(await world.tokens()) == 32

    run_virtually(scene())


def test_no_error_tells_a_token() -> None:
    async def scene() -> None:
        world = VirtualStart(TEXT)
        request = world.ask()
        world.cluster.faults.order(Fault.INTERNAL_AFTER, verb="create", resource="secrets")
        with pytest.raises(Unavailable) as refused:
            await world.renderer().render(request)
        (written,) = await world.tokens()
        assert written["token-secret"] not in "".join(traceback.format_exception(refused.value))

    run_virtually(scene())


def test_the_stand_in_is_as_long_as_a_token() -> None:
    assert SHAPE.fullmatch(STAND_IN)
    assert token_id("a", 0) == token_id("a", 0)
    assert len({token_id(f"uid-{number}", 0) for number in range(2000)}) == 2000
