"""What ``growth cluster`` shows, at the widths of a small and of a wide terminal."""

import pytest

from growth_lab.cli.build_display import moving_line
from growth_lab.cli.cluster_view import render_list, render_status, render_up
from growth_lab.local_cluster.progress import Done, Event, Note, Step, Stopped, Tick, plain_line
from growth_lab.local_cluster.status import ClusterStatus, ComponentStatus, Condition

APISERVER = Step(2, 7, "build kube-apiserver", 200)


def a_component(name: str, condition: Condition = Condition.UP, *, pid: int | None = 4242) -> ComponentStatus:
    return ComponentStatus(name, condition, pid, 14996, 266 << 20 if pid else 0)


def a_cluster(
    name: str = "default", condition: Condition = Condition.UP, *, held_by: int | None = None
) -> ClusterStatus:
    return ClusterStatus(
        name=name,
        condition=condition,
        created_at="2026-11-15T16:20:34+00:00",
        server="https://127.0.0.1:14996",
        kubeconfig="/state/default/kubeconfig/admin.yaml",
        kubectl="/cache/kubectl",
        held_by=held_by,
        components=(
            a_component("etcd"),
            a_component("kube-apiserver"),
            a_component("kube-controller-manager", Condition.PAUSED),
            a_component("kube-scheduler", Condition.UNWELL),
            a_component("kwok", Condition.ENDED, pid=None),
        ),
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_has_a_line_per_cluster_and_cuts_nothing(width: int) -> None:
    clusters = [a_cluster(), a_cluster("test-0a1b2c3d", Condition.HURT, held_by=31337)]
    assert render_list(clusters, width) == (
        "NAME           STATE  SERVER           SINCE               MEMORY  USED BY\n"
        "default        up     127.0.0.1:14996  2026-11-15 16:20  1064 MiB  -\n"
        "test-0a1b2c3d  hurt   127.0.0.1:14996  2026-11-15 16:20  1064 MiB  pid 31337\n"
    )


def test_an_empty_list_says_what_to_do() -> None:
    assert render_list([], 80) == "no clusters; `growth cluster up` starts one\n"


@pytest.mark.parametrize("width", [80, 120])
def test_the_status_has_a_line_per_component(width: int) -> None:
    assert render_status(a_cluster(condition=Condition.HURT), width) == (
        "cluster default is hurt: https://127.0.0.1:14996\n"
        "COMPONENT                STATE    PID   PORT   MEMORY\n"
        "etcd                     up      4242  14996  266 MiB\n"
        "kube-apiserver           up      4242  14996  266 MiB\n"
        "kube-controller-manager  paused  4242  14996  266 MiB\n"
        "kube-scheduler           unwell  4242  14996  266 MiB\n"
        "kwok                     ended      -  14996        -\n"
    )


def test_colour_is_for_terminals_only() -> None:
    assert "\x1b[" not in render_status(a_cluster(), 80)
    assert "\x1b[" in render_status(a_cluster(), 80, colour=True)


def test_a_new_cluster_says_how_to_use_and_how_to_end_it() -> None:
    assert render_up(a_cluster("try"), 1, 3.26) == (
        "cluster try is up after 3.3 s with 1 node: https://127.0.0.1:14996\n\n"
        "  export KUBECONFIG=/state/default/kubeconfig/admin.yaml\n"
        "  /cache/kubectl get nodes\n\n"
        "It stays until you run: growth cluster down --name try\n"
    )
    assert render_up(a_cluster(), 0, 3.26).endswith("growth cluster down\n")


def test_the_moving_line_names_the_step_the_time_and_the_usual_time() -> None:
    assert moving_line(APISERVER, 50, 80) == (
        "[2/7] build kube-apiserver  ━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  50 s of usually 3 min 20 s"
    )
    assert moving_line(APISERVER, 260, 120).count("━") == 24, "a slow machine fills the bar, and no more"
    assert moving_line(APISERVER, 50, 40) == "[2/7] build kube-apiserver  50 s"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (APISERVER, "[2/7] build kube-apiserver (usually 3 min 20 s)"),
        (Tick(APISERVER, 31.2), ""),
        (Tick(APISERVER, 60.4), "[2/7] build kube-apiserver: 1 min 00 s so far"),
        (Done(APISERVER, 187.6), "[2/7] build kube-apiserver: done in 3 min 08 s"),
        (Stopped(APISERVER, 12.1), "[2/7] build kube-apiserver: stopped after 12 s"),
        (Note("waiting for process 7"), "waiting for process 7"),
    ],
)
def test_a_log_gets_a_line_per_step_and_one_every_half_minute(event: Event, line: str) -> None:
    assert plain_line(event) == line
