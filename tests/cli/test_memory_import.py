"""``growth memory import``: what is taken in, what is not because more is known here, and what comes of it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from growth.api.core import ConfigMap
from growth.api.kinds import CONFIG_MAPS, NAMESPACES, NODES
from growth.api.meta import ObjectMeta
from growth.api.node_memory import IMPORTED, MARKER, MEMORIES, NodeContents
from growth.api.settings.model import MemorySettings, Settings
from growth.cli.errors import NotDone, UsageError
from growth.cli.main import main
from growth.cli.memory_documents import MemoryDocument
from growth.cli.memory_export import RecordSource, exported, import_into
from growth.cli.memory_import import (
    CHANGED,
    KNOWN,
    LIVES,
    SAME,
    ImportPlan,
    RecordWrite,
    carry_out,
    config_maps_in,
    taken_over,
)
from growth.cli.memory_reader import read_book
from growth.kube.errors import Forbidden
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, growing
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.faults import Fault
from tests.cli.memory_desk import Desk, a_tally, at_a_desk

BLUE = NodeContents(uid="", version=0, labels={"team": "blue"})


def of(*names: str, memento: NodeContents = BLUE) -> RecordSource:
    return RecordSource(tuple(MemoryDocument(name, memento) for name in names))


def test_what_is_taken_in_and_what_is_not() -> None:
    async def tell(desk: Desk) -> None:
        await desk.node("lives", marker="0")
        await desk.node("comes")
        await desk.remember("known", NodeContents(uid="u", version=812, labels={"team": "red"}))
        await desk.remember("same", NodeContents(uid="u", version=812, labels={"team": "blue"}))
        assert await desk.take_in(of("gone", "comes", "lives", "known", "same")) == [
            "imported 2 memories",
            f"skipped 1, {LIVES}: lives",
            f"skipped 1, {KNOWN}: known",
            f"skipped 1, {SAME}: same",
        ]
        for name in ("gone", "comes"):
            memory = await desk.memory(name)
            assert memory is not None
            assert memory.is_final
            assert (memory.memento.uid, memory.memento.version) == ("", 0)
            assert memory.memento.at is not None
            assert desk.now() - memory.memento.at < timedelta(seconds=5)
        assert await desk.memory("lives") is None

    at_a_desk(tell)


def test_overwriting_stands_for_the_version_that_it_overwrites() -> None:
    """Else a transaction that was dealt with, and is written again late, would take its place."""

    async def tell(desk: Desk) -> None:
        await desk.remember("known", NodeContents(uid="u", version=812, labels={"team": "red"}))
        await desk.write("broken", {"memory": "{oops", "claimedBy": "x/y"})
        assert await desk.take_in(of("known", "broken"), overwrite=True) == ["imported 2 memories"]
        known, broken = await desk.memory("known"), await desk.memory("broken")
        assert known is not None
        assert (known.memento.labels, known.memento.uid, known.memento.version) == ({"team": "blue"}, "", 812)
        assert broken is not None
        assert (broken.memento.labels, broken.claimed_by) == ({"team": "blue"}, "")

    at_a_desk(tell)


def test_an_import_that_is_run_again_writes_nothing() -> None:
    async def tell(desk: Desk) -> None:
        await desk.take_in(of("a", "b"))
        before = await desk.client.get(MEMORIES, "a", "growth-memory")
        assert await desk.take_in(of("a", "b"), overwrite=True) == ["imported 0 memories", f"skipped 2, {SAME}: a, b"]
        assert await desk.client.get(MEMORIES, "a", "growth-memory") == before

    at_a_desk(tell)


def test_a_claim_is_kept() -> None:
    async def tell(desk: Desk) -> None:
        await desk.take_in(RecordSource((MemoryDocument("a", BLUE, "b/uid"),)))
        memory = await desk.memory("a")
        assert memory is not None
        assert memory.claimed_by == "b/uid"

    at_a_desk(tell)


def test_what_somebody_writes_meanwhile_stays() -> None:
    async def tell(desk: Desk) -> None:
        await desk.remember("made", NodeContents(uid="u", version=3, labels={"team": "red"}))
        await desk.remember("changed", NodeContents(uid="u", version=3, labels={"team": "red"}))
        plan = ImportPlan(
            (
                RecordWrite("made", {"metadata": {"name": "made"}}),
                RecordWrite("changed", {}, 1),
                RecordWrite("away", {}, 1),
            ),
            (),
        )
        late = await carry_out(desk.client, desk.settings.memory, plan, a_tally())
        assert sorted(late) == [("away", CHANGED), ("changed", CHANGED), ("made", CHANGED)]
        for name in ("made", "changed"):
            memory = await desk.memory(name)
            assert memory is not None
            assert memory.memento.labels == {"team": "red"}

    at_a_desk(tell)


def test_thousands_are_written_and_one_that_fails_ends_it_with_a_figure() -> None:
    async def tell(desk: Desk) -> None:
        names = [f"n{number}" for number in range(1000)]
        desk.cluster.faults.order(Fault.INTERNAL, verb="create", resource="configmaps", skip=500)
        with pytest.raises(NotDone, match=r"at least \d+ of 1,000 are written; run it again, what is there is skipped"):
            await desk.take_in(of(*names))
        assert (await desk.take_in(of(*names)))[1].startswith("skipped")
        assert len((await desk.client.list(MEMORIES, "growth-memory")).items) == 1000

    at_a_desk(tell)


READER: dict[str, Any] = {
    "kind": "ClusterRole",
    "metadata": {"name": "reader"},
    "rules": [{"apiGroups": [""], "resources": ["nodes", "configmaps"], "verbs": ["list"]}],
}
BINDING: dict[str, Any] = {
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "reader"},
    "roleRef": {"kind": "ClusterRole", "name": "reader"},
    "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "reader"}],
}


def test_who_may_not_write_is_told_the_verb() -> None:
    async def tell(desk: Desk) -> None:
        reader = desk.cluster.client(service_account("default", "reader"))
        with pytest.raises(Forbidden, match="the role lacks the verb 'create' on configmaps"):
            await desk.take_in(of("a"), client=reader)

    at_a_desk(tell, READER, BINDING)


def test_without_the_namespace_it_says_where_that_comes_from() -> None:
    async def tell(desk: Desk) -> None:
        desk.settings = Settings(memory=MemorySettings(namespace="elsewhere"))
        with pytest.raises(UsageError, match="the namespace of memories comes with: growth manifests"):
            await desk.take_in(of("a"))

    at_a_desk(tell)


# What comes of it


def test_a_node_is_given_it_and_what_it_becomes_takes_its_place() -> None:
    async def tell(play: Play) -> None:
        for namespace in (QUICK.memory.namespace, QUICK.memory.transaction_namespace):
            await play.client.create(NAMESPACES, {"metadata": {"name": namespace}})
        name = play.full("steady")
        source = RecordSource(
            (MemoryDocument(name, NodeContents(uid="", version=0, labels={"team": "blue", "rack": "r7"})),)
        )
        await import_into(play.client, QUICK.memory, source, a_tally(), play.now, overwrite=False)
        async with growing(play):
            await play.node("steady", labels={"team": "red"})
            labels = await marked(play, name)
            assert (labels[MARKER], labels["team"], labels["rack"]) == (IMPORTED, "blue", "r7")
            await play.change(NODES, name, {"metadata": {"labels": {"rack": None, "row": "3"}}})
            await play.delete(NODES, name)
            await play.until(lambda: "steady" not in play.trace.nodes, "it is gone")
            await play.node("steady", labels={"rack": "factory"})
            labels = await marked(play, name)
            assert labels[MARKER] != IMPORTED, "what is known here is newer"
            assert (labels["team"], labels["row"], labels.get("rack")) == ("blue", "3", None)

    play_virtually(tell, alone=True)


async def marked(play: Play, name: str) -> dict[str, str]:
    """The node's labels, once it may be edited."""

    async def has_marker() -> bool:
        return MARKER in (await play.client.get(NODES, name)).metadata.labels

    await play.until_found(has_marker, f"{name} has its marker")
    return (await play.client.get(NODES, name)).metadata.labels


def test_what_one_cluster_exports_another_one_imports() -> None:
    async def tell(desk: Desk) -> None:
        await desk.remember("worker-1", NodeContents(uid="u", version=7, labels={"a/b": "true"}, removed=("c",)))
        await desk.write("worker-2", {"checkpoint": "{oops"})
        book = await read_book(desk.client, desk.settings.memory, desk.now)
        text = exported(book, "yaml")
        assert text.startswith("# 1 node, written by `growth memory export` at ")
        assert [one["node"] for one in yaml.safe_load_all(text)] == ["worker-1"]

    at_a_desk(tell)


# The format of the service that the seed describes


def theirs(name: str, **data: str) -> ConfigMap:
    return ConfigMap(ObjectMeta(name=name), data)


def test_slashes_are_slashes_again_and_their_marker_is_dropped() -> None:
    found = theirs("worker-1", **{"example.com---SLASH---rack": "r7", "plain": "", "labels_restored": "812"})
    (entry,) = taken_over([found], "here").entries
    assert (entry.node, entry.memento.labels) == ("worker-1", {"example.com/rack": "r7", "plain": ""})


def test_somebody_elses_config_maps_are_left_out() -> None:
    ca = theirs("kube-root-ca.crt", **{"ca.crt": "-----BEGIN CERTIFICATE-----"})
    taken = taken_over([ca, theirs("worker-1", team="blue")], "here")
    assert (taken.others, [one.node for one in taken.entries]) == (("kube-root-ca.crt",), ["worker-1"])


def test_one_of_theirs_that_cannot_be_a_memory_is_refused_and_with_it_all() -> None:
    bad = theirs("worker-2", team="no good!", labels_restored="812")
    with pytest.raises(UsageError, match="here, ConfigMap worker-2: data, team is 'no good!', expected up to 63"):
        taken_over([theirs("worker-1", team="blue"), bad], "here")


def test_a_node_that_their_service_restored_is_newer_than_its_config_map() -> None:
    async def tell(desk: Desk) -> None:
        await desk.client.create(NAMESPACES, {"metadata": {"name": "theirs"}})
        for name in ("lives", "new", "gone"):
            data = {"team": "blue", "labels_restored": "7"}
            await desk.client.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": data}, "theirs")
        await desk.node("lives", labels_restored="7", team="red")
        await desk.node("new")
        said = await desk.take_in(RecordSource(namespace="theirs", is_theirs=True))
        assert said[0] == "imported 2 memories"
        assert said[1].startswith("skipped 1, its node is there, and that service gave it its labels back")

    at_a_desk(tell)


def test_a_namespace_without_any_is_refused() -> None:
    async def tell(desk: Desk) -> None:
        with pytest.raises(
            UsageError, match="--from-namespace nirvana: there are no ConfigMaps, expected some with labels"
        ):
            await desk.take_in(RecordSource(namespace="nirvana", is_theirs=True))

    at_a_desk(tell)


def test_what_kubectl_writes_is_read() -> None:
    one = {"kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "7"}, "data": {"x": "y"}}
    listed = {"kind": "List", "items": [one, {"kind": "ConfigMap", "metadata": {"name": "b"}}]}
    assert [(found.metadata.name, found.data) for found in config_maps_in([listed, one], "f")] == [
        ("a", {"x": "y"}), ("b", {}), ("a", {"x": "y"}),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="f, document 1: kind is 'Pod', expected ConfigMap or"):
        config_maps_in([{"kind": "Pod"}], "f")
    with pytest.raises(UsageError, match="f, document 1 cannot be read"):
        config_maps_in([{"kind": "List", "items": 7}], "f")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "FILE is missing; expected: growth memory import FILE"),
        (("FILE", "--from-namespace", "x"), "--from-namespace goes with --from configmaps"),
        (("--from", "configmaps"), "needs one place: --from-namespace NAMESPACE, or FILE, and not both"),
        (("FILE", "--from", "configmaps", "--from-namespace", "x"), "and not both"),
        (("nowhere.yaml",), "nowhere.yaml cannot be read: No such file or directory"),
        (("BINARY",), "is not text: expected YAML or JSON in UTF-8"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_cluster_is_asked(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "memories.yaml").write_text("node: a\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    files = {"FILE": str(tmp_path / "memories.yaml"), "BINARY": str(tmp_path / "binary")}
    result = CliRunner().invoke(main, ["memory", "import", *(files.get(one, one) for one in arguments)])
    assert result.exit_code == 2
    assert words in result.stderr
