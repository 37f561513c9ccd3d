"""Stories of servers at Hetzner: the whole way from a pod to a server of the sandbox, its node, and the pod on it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.quantity import nano_value
from growth.api.settings.model import Settings
from growth.api.status import condition_of
from growth_lab.hetzner_sandbox.faults import ActionFails, Lost, Quota, RateLimit, Refuse, SoldOut
from growth_lab.hetzner_sandbox.sandbox import Right
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.hetzner import Project, a_project
from growth_lab.scenarios.replica import QUICK, growing
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("hetzner", alone=True)
# No two fit on a cx23.
CPU = "1500m"
# Whether a status is written between two things that happen at once is left to chance, and how long a story lasts: then
# what is over may be forgotten.
CHANCE = "NothingComing,MachinesComing,gone"


@asynccontextmanager
async def a_shop(play: Play, *, settings: Settings = QUICK, **spec: Any) -> AsyncGenerator[Project]:  # noqa: ANN401
    """Growth at work with a pool of cx23, which cost the same in both locations; ``spec`` is what else it says."""
    async with a_project(play) as project, growing(play, settings=settings, others=project.others):
        # With no node at all kube-scheduler tries pods again in its own good time.
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        await project.set_secrets()
        await project.pool(**spec)
        yield project


async def pods(play: Play, count: int) -> None:
    for number in range(count):
        await play.pod(f"app-{number}", cpu=CPU, nodeSelector={})


async def until_all_run(play: Play, count: int) -> None:
    for number in range(count):
        await play.until(play.pod_is(f"app-{number}"), f"pod {number} of {count} runs")


def requests_of(play: Play) -> list[NodeRequest]:
    return list(play.trace.objects[NODE_REQUESTS].values())


def said(play: Play, reason: str) -> bool:
    """Whether a request could not be met for this reason."""
    found = [condition_of(request.status.conditions, "Met") for request in requests_of(play)]
    return any(one is not None and one.reason == reason for one in found)


async def has_more(play: Play, resource: str) -> bool:
    """Whether the pool has noted that servers have more of it than was estimated."""
    entries = play.trace.objects[NODE_POOLS]["default"].status.offerings
    return any(nano_value(one.lacks.get(resource, "0")) < 0 for one in entries)


def needing(memory: str) -> dict[str, Any]:
    """A pod for any node that asks for so much."""
    resources = {"requests": {"cpu": CPU, "memory": memory}}
    return {"containers": [{"name": "main", "image": "main", "resources": resources}], "nodeSelector": {}}


def servers_by_location(project: Project) -> dict[str, int]:
    found = [server.location for server in project.sandbox.servers()]
    return {location: found.count(location) for location in sorted(set(found))}


@STORIES.story(is_first=True, ignores=CHANCE)
async def a_pod_waits_and_gets_a_server(play: Play) -> None:
    """The server is named after its request and labelled, becomes the node that was planned, and the pod runs."""
    async with a_shop(play) as project:
        await pods(play, 1)
        await until_all_run(play, 1)
        (request,) = requests_of(play)
        (server,) = project.sandbox.servers()
        assert server.name == request.metadata.name
        assert server.labels == {
            "growth.dev/cluster": "story",
            "growth.dev/pool": "default",
            "growth.dev/request": server.name,
            "growth.dev/offering": "hetzner-cx23-fsn1",
        }
        node = await play.client.get(NODES, server.name)
        assert node.spec.provider_id == f"hcloud://{server.id}"
        assert node.metadata.labels["topology.kubernetes.io/zone"] == "fsn1"


@STORIES.story(ignores=CHANCE)
async def what_is_sold_out_in_one_place_is_bought_in_another(play: Play) -> None:
    """Hetzner lists the type as available, refuses, and the other location is tried at once."""
    async with a_shop(play) as project:
        project.sandbox.order(SoldOut(server_type="cx23", location="fsn1", is_listed=True))
        await pods(play, 1)
        await until_all_run(play, 1)
        assert servers_by_location(project) == {"nbg1": 1}


@STORIES.story(ignores=CHANCE)
async def what_is_sold_out_everywhere_is_bought_when_there_is_some(play: Play) -> None:
    """The pod waits, the request says why, and later a server is bought without anybody asking."""
    async with a_shop(play) as project:
        project.sandbox.order(SoldOut(server_type="cx23", is_listed=True))
        await pods(play, 1)
        await play.until(lambda: said(play, "OutOfStock"), "a request says that there is none")
        project.sandbox.clear_faults()
        await until_all_run(play, 1)
        assert len(project.names) == 1


@STORIES.story(any_node=True, ignores=CHANCE)
async def an_account_that_may_have_no_more_is_left_alone_until_it_may(play: Play) -> None:
    """One of two servers is bought, the other one's request says that the account is exhausted."""
    async with a_shop(play) as project:
        project.sandbox.order(Quota(servers=1))
        await pods(play, 2)
        await play.until(lambda: said(play, "QuotaExceeded"), "a request says that the account is exhausted")
        assert len(project.names) == 1
        project.sandbox.clear_faults()
        await until_all_run(play, 2)
        assert len(project.names) == 2


# Between the old token and the new one somebody may ask.
@STORIES.story(ignores=f"{CHANCE},ProviderSilent,Usable")
async def a_token_that_was_rotated_is_taken_over(play: Play) -> None:
    """The old one is refused, the new one stands in the Secret: nobody restarts anything."""
    async with a_shop(play) as project:
        await pods(play, 1)
        await until_all_run(play, 1)
        project.sandbox.tokens = {"newer": Right.READ_WRITE}
        await project.set_secrets("newer")
        await play.pod("late", cpu=CPU, nodeSelector={})
        await play.until(play.pod_is("late"), "the second pod runs")
        assert len(project.names) == 2


@STORIES.story(ignores=CHANCE)
async def a_limit_that_is_reached_is_waited_for(play: Play) -> None:
    """Calls are refused for a while; then the server is bought, once."""
    async with a_shop(play) as project:
        await play.until(lambda: len(project.sandbox.calls) > 2, "Growth knows what is sold and which servers it has")
        project.sandbox.order(RateLimit(left=0))
        await pods(play, 1)
        await until_all_run(play, 1)
        assert len(project.names) == 1


@STORIES.story(ignores=CHANCE)
async def a_lost_answer_is_found_again(play: Play) -> None:
    """The server was made, and nobody heard of it: it is adopted, and no second one is made."""
    async with a_shop(play) as project:
        project.sandbox.order(Lost(method="POST", path="/servers"))
        await pods(play, 1)
        await until_all_run(play, 1)
        assert len(project.names) == 1


# So is which purchases are hit, and whether a list shows one that then fails: its pod gets a server elsewhere.
@STORIES.story(any_node=True, ignores=f"{CHANCE},asks for,Provisioning,Unmet,Ready")
async def of_ten_that_partly_fail_there_are_ten_in_the_end(play: Play) -> None:
    """Answers are lost, refused and broken, an action fails half-way: exactly ten machines, no eleventh."""
    async with a_shop(play) as project:
        for fault in (
            Lost(method="POST", path="/servers", times=2),
            Refuse(method="POST", path="/servers", code="server_error", works=True, skip=2),
            Refuse(method="POST", path="/servers", code="bad_gateway", is_plain=True, skip=2),
            ActionFails(command="create_server", skip=3),
        ):
            project.sandbox.order(fault)
        await pods(play, 10)
        await until_all_run(play, 10)
        assert len(project.names) == 10


@STORIES.story(ignores=CHANCE, unless_stopped="it counts the lives of Growth")
async def growth_is_stopped_while_it_buys(play: Play) -> None:
    """The next one finds the server that the first one ordered."""
    async with a_project(play) as project:
        async with growing(play, others=project.others):
            await play.node("other", taints=("dedicated=other:NoSchedule",))
            await project.set_secrets()
            await project.pool()
            await pods(play, 1)
            await play.until(lambda: len(project.names) == 1, "the server is ordered")
        async with growing(play, others=project.others):
            await until_all_run(play, 1)
            assert len(project.names) == 1


@STORIES.story(ignores=CHANCE)
async def the_first_node_tells_how_much_the_next_one_has(play: Play) -> None:
    """A node has a little more memory than was estimated, so a pod gets a server that it would not have got before."""
    async with a_shop(play) as project:
        await pods(play, 1)
        await until_all_run(play, 1)
        await play.until_found(lambda: has_more(play, "memory"), "the pool has noted what the node has")
        await play.pod("tall", **needing(memory="3750Mi"))
        await play.until(play.pod_is("tall"), "the pod runs")
        assert len(project.names) == 2


@STORIES.story(ignores=f"{CHANCE},refused")
async def a_node_that_is_smaller_than_estimated_is_bought_once(play: Play) -> None:
    """Kubelets keep more for themselves than the pool says. The pod that does not fit gets a larger server, and so does
    the next one at once."""
    async with a_project(play) as project, growing(play, others=project.others):
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        await project.set_secrets(kubelet="--system-reserved=memory=1Gi")
        await project.pool(types="cx23 cx33", locations=["fsn1"])
        for name in ("first", "second"):
            await play.pod(name, **needing(memory="3500Mi"))
            await play.until(play.pod_is(name), f"the {name} pod runs")
        launched = sorted(server.labels["growth.dev/offering"] for server in project.sandbox.servers())
        assert launched == ["hetzner-cx23-fsn1", "hetzner-cx33-fsn1", "hetzner-cx33-fsn1"]


@STORIES.story(ignores=f"{CHANCE},refused")
async def one_pools_mistake_is_no_other_pools(play: Play) -> None:
    """An image is mistyped: its pool says so and gets nothing. Another pool gets the same type in the same place."""
    async with a_shop(play) as project:
        await project.pool(name="typo", machine={"image": "debian-31"})
        await play.pod("wrong", cpu=CPU, nodeSelector={POOL: "typo"})
        await play.until(lambda: said(play, "Invalid"), "a request says that there is no such image")
        await play.pod("right", cpu=CPU, nodeSelector={POOL: "default"})
        await play.until(play.pod_is("right"), "the other pool's pod runs")
        assert servers_by_location(project) == {"fsn1": 1}


@STORIES.story(ignores=CHANCE)
async def servers_of_others_are_left_alone(play: Play) -> None:
    """A person's server, and one of another cluster that looks like a leftover of ours."""
    async with a_project(play) as project:
        strangers = {
            "desk": {},
            "default-0123456789": {"growth.dev/cluster": "attic", "growth.dev/pool": "default"},
        }
        for name, labels in strangers.items():
            body = {"name": name, "server_type": "cx23", "image": "debian-13", "location": "fsn1", "labels": labels}
            body |= {"user_data": "--register-with-taints=dedicated=other:NoSchedule"}
            project.ask("POST", "/servers", body)
        async with growing(play, others=project.others):
            await project.set_secrets()
            await project.pool()
            await pods(play, 1)
            await until_all_run(play, 1)
        others = {server.name: server.labels for server in project.sandbox.servers() if server.name in strangers}
        assert others == strangers
        assert not any(call.method == "DELETE" for call in project.sandbox.calls)
