"""The record of a cluster: whole or absent, and enough for anybody to end it."""

import signal
from pathlib import Path

import pytest

from growth_lab.local_cluster import process, state
from growth_lab.local_cluster.components import Plan
from growth_lab.local_cluster.errors import BadName, NameTaken, UnknownCluster
from growth_lab.local_cluster.layout import Layout, layout_of
from growth_lab.local_cluster.ports import Ports, free_ports, is_free
from growth_lab.local_cluster.process import Process
from growth_lab.local_cluster.state import Record
from growth_lab.local_cluster.timings import Timings
from lab.tests.local_cluster.waiting import wait_for

GONE = Process(pid=2**22 - 1, start_ticks=1)
PORTS = Ports(etcd=1, etcd_peer=2, apiserver=3, controller_manager=4, scheduler=5, kwok=6)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"GROWTH_STATE": str(tmp_path)}


def a_cluster(
    name: str,
    home: dict[str, str],
    *,
    starter: Process | None = None,
    processes: dict[str, Process] | None = None,
    dies_with_starter: bool = False,
) -> tuple[Layout, Record]:
    layout = layout_of(name, home)
    state.claim(layout)
    plan = Plan(layout=layout, ports=PORTS, timings=Timings(), binaries={"etcd": Path("/bin/etcd")}, flags={})
    record = Record(
        name=name,
        created_at="2026-01-01T00:00:00+00:00",
        starter=starter or process.this_process(),
        dies_with_starter=dies_with_starter,
        plan=plan,
        processes=processes or {},
    )
    state.save(layout, record)
    return layout, record


def a_sleeper(tmp_path: Path, mark: str = "") -> Process:
    started = process.start(("/bin/sleep", "60"), tmp_path / "log", {state.MARK: mark}, dies_with_starter=False)
    wait_for(lambda: started in process.marked(state.MARK, mark), "the program is loaded and shows its environment")
    return started


def test_a_record_is_read_as_it_was_written(home: dict[str, str]) -> None:
    layout, record = a_cluster("one", home)
    assert state.load("one", home) == (layout, record)
    assert layout.root.stat().st_mode & 0o777 == 0o700, "it holds keys"


def test_a_name_can_be_had_once(home: dict[str, str]) -> None:
    a_cluster("one", home)
    with pytest.raises(NameTaken, match="there is already a cluster named 'one'"):
        state.claim(layout_of("one", home))


def test_an_unknown_name_is_answered_with_the_known_ones(home: dict[str, str]) -> None:
    with pytest.raises(UnknownCluster, match="there is none; `growth cluster up` starts one"):
        state.load("two", home)
    a_cluster("one", home)
    with pytest.raises(UnknownCluster, match="no cluster is named 'two'; there are: one"):
        state.load("two", home)


@pytest.mark.parametrize("name", ["", "..", "a/b", "Ab", "-a", "a-", "1a", "a" * 41])
def test_a_name_that_could_leave_the_folder_or_break_a_context_is_refused(name: str) -> None:
    with pytest.raises(BadName, match="cannot name a cluster"):
        layout_of(name, {})


def test_a_cluster_without_a_record_or_with_a_torn_one_can_still_be_ended(home: dict[str, str], tmp_path: Path) -> None:
    for name, content in (("bare", None), ("torn", '{"name": "to')):
        layout = layout_of(name, home)
        state.claim(layout)
        if content:
            layout.record.write_text(content)
        unrecorded = a_sleeper(tmp_path, mark=str(layout.root))
        assert state.load(name, home) == (layout, None)
        assert state.end(layout, None) == [unrecorded]
        assert not process.is_alive(unrecorded)
        assert state.names(home) == []


def test_ending_a_cluster_spares_a_process_that_got_a_recorded_pid_later(home: dict[str, str], tmp_path: Path) -> None:
    ours, stranger = a_sleeper(tmp_path), a_sleeper(tmp_path)
    recycled = Process(stranger.pid, stranger.start_ticks - 1)
    layout, record = a_cluster("one", home, processes={"etcd": ours, "kwok": recycled})
    assert state.end(layout, record) == [ours]
    assert process.is_alive(stranger)
    process.send(stranger, signal.SIGKILL)
    process.end_all([stranger])


def test_leftovers_of_dead_tests_are_removed_and_nothing_else_is(home: dict[str, str]) -> None:
    a_cluster("of-a-dead-test", home, starter=GONE, dies_with_starter=True)
    a_cluster("of-a-living-test", home, dies_with_starter=True)
    a_cluster("that-stays", home, starter=GONE)
    assert state.remove_leftovers(home) == ["of-a-dead-test"]
    assert state.names(home) == ["of-a-living-test", "that-stays"]


def test_ports_of_other_clusters_are_kept_free_for_them(home: dict[str, str]) -> None:
    a_cluster("one", home)
    with state.choosing_ports(home) as taken:
        assert taken == set(PORTS.numbers())


def test_free_ports_are_free_distinct_and_below_the_ephemeral_range() -> None:
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = free_ports(()).numbers()
    assert len(set(ports)) == len(ports)
    assert all(is_free(port) for port in ports)
    assert max(ports) < first
