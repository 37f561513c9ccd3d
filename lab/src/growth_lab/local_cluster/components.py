"""The command line of each component, as a pure function of a ``Plan``: nothing is started here."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from growth_lab.local_cluster.certificates import SERVICE_IP
from growth_lab.local_cluster.layout import Layout
from growth_lab.local_cluster.nodes import KWOK_LABEL, KWOK_VALUE
from growth_lab.local_cluster.pinned_modules import CONTROL_PLANE
from growth_lab.local_cluster.ports import Ports
from growth_lab.local_cluster.timings import Timings

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
"""All processes of a cluster, in the order in which they need each other."""

STAGES = CONTROL_PLANE / "stages"
"""What kwok plays: our own stage files."""

_SERVICE_RANGE = f"{SERVICE_IP.rpartition('.')[0]}.0/16"
_ETCD_QUOTA_BYTES = 8 << 30
_POD_RANGE = "10.244.0.0/16"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides how the components are started, and started again."""

    layout: Layout
    ports: Ports
    timings: Timings
    binaries: dict[str, Path]
    flags: dict[str, tuple[str, ...]]  # by component, appended last, so they win


class Health(msgspec.Struct, frozen=True):
    """Where a component says whether it is well."""

    port: int
    path: str
    is_tls: bool


def command(component: str, plan: Plan) -> list[str]:
    """The whole command line."""
    return [str(plan.binaries[component]), *_ARGUMENTS[component](plan), *plan.flags.get(component, ())]


def health(component: str, ports: Ports) -> Health:
    """The address to ask."""
    return {
        "etcd": Health(ports.etcd, "/health", is_tls=True),
        "kube-apiserver": Health(ports.apiserver, "/readyz", is_tls=True),
        "kube-controller-manager": Health(ports.controller_manager, "/healthz", is_tls=True),
        "kube-scheduler": Health(ports.scheduler, "/healthz", is_tls=True),
        "kwok": Health(ports.kwok, "/healthz", is_tls=False),
    }[component]


def _etcd(plan: Plan) -> list[str]:
    layout, ports = plan.layout, plan.ports
    client, peer = f"https://127.0.0.1:{ports.etcd}", f"https://127.0.0.1:{ports.etcd_peer}"
    authority, certificate, key = layout.certificate("ca"), layout.certificate("server"), layout.key("server")
    return [
        f"--name={layout.name}",
        f"--data-dir={layout.data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={layout.name}={peer}",
        f"--cert-file={certificate}",
        f"--key-file={key}",
        "--client-cert-auth=true",
        f"--trusted-ca-file={authority}",
        f"--peer-cert-file={certificate}",
        f"--peer-key-file={key}",
        "--peer-client-cert-auth=true",
        f"--peer-trusted-ca-file={authority}",
        "--unsafe-no-fsync",  # the cluster is thrown away with its machine; kill -9 of etcd alone loses nothing
        f"--quota-backend-bytes={_ETCD_QUOTA_BYTES}",
        "--log-level=warn",
    ]


def _apiserver(plan: Plan) -> list[str]:
    layout, ports = plan.layout, plan.ports
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={ports.apiserver}",
        "--advertise-address=127.0.0.1",
        f"--etcd-servers=https://127.0.0.1:{ports.etcd}",
        f"--etcd-cafile={layout.certificate('ca')}",
        f"--etcd-certfile={layout.certificate('server')}",
        f"--etcd-keyfile={layout.key('server')}",
        f"--client-ca-file={layout.certificate('ca')}",
        f"--tls-cert-file={layout.certificate('server')}",
        f"--tls-private-key-file={layout.key('server')}",
        f"--service-account-key-file={layout.key('service-account')}",
        f"--service-account-signing-key-file={layout.key('service-account')}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-cluster-ip-range={_SERVICE_RANGE}",
        "--authorization-mode=RBAC",
        "--enable-bootstrap-token-auth=true",  # as kubeadm, k3s and Talos have it: new machines join by such tokens
        "--allow-privileged=true",
        "--endpoint-reconciler-type=none",  # a loopback address is no endpoint, and nobody here needs one
        f"--default-not-ready-toleration-seconds={plan.timings.toleration_seconds}",
        f"--default-unreachable-toleration-seconds={plan.timings.toleration_seconds}",
    ]


def _controller_manager(plan: Plan) -> list[str]:
    layout, timings = plan.layout, plan.timings
    return [
        *_client_of_apiserver(plan, "kube-controller-manager", plan.ports.controller_manager),
        "--use-service-account-credentials=true",  # each controller under its own role, as in a real cluster
        f"--root-ca-file={layout.certificate('ca')}",
        f"--service-account-private-key-file={layout.key('service-account')}",
        f"--cluster-signing-cert-file={layout.certificate('ca')}",
        f"--cluster-signing-key-file={layout.key('ca')}",
        f"--node-monitor-period={timings.node_monitor_period_seconds:g}s",
        f"--node-monitor-grace-period={timings.node_monitor_grace_seconds:g}s",
        f"--node-startup-grace-period={timings.node_startup_grace_seconds:g}s",
        f"--node-eviction-rate={timings.node_evictions_per_second:g}",
        f"--terminated-pod-gc-threshold={timings.terminated_pods_kept}",
    ]


def _scheduler(plan: Plan) -> list[str]:
    return _client_of_apiserver(plan, "kube-scheduler", plan.ports.scheduler)


def _client_of_apiserver(plan: Plan, component: str, port: int) -> list[str]:
    """What scheduler and controller-manager share. Without leader election, as there is one of each: a restarted one
    works at once instead of waiting for its own old lease."""
    kubeconfig = plan.layout.kubeconfig_of(component)
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={plan.layout.certificate('server')}",
        f"--tls-private-key-file={plan.layout.key('server')}",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--authentication-tolerate-lookup-failure=true",
        "--leader-elect=false",
        # Their own brake of 20 and 50 requests a second would cost five seconds of every start, and be what a
        # benchmark measures.
        "--kube-api-qps=5000",
        "--kube-api-burst=10000",
    ]


def _kwok(plan: Plan) -> list[str]:
    return [
        f"--kubeconfig={plan.layout.kubeconfig_of('kwok')}",
        *(f"--config={file}" for file in (CONTROL_PLANE / "kwok.yaml", *sorted(STAGES.glob("*.yaml")))),
        "--manage-all-nodes=false",
        f"--manage-nodes-with-label-selector={KWOK_LABEL}={KWOK_VALUE}",
        f"--node-lease-duration-seconds={plan.timings.node_lease_seconds}",
        f"--cidr={_POD_RANGE}",
        "--node-ip=10.0.0.1",
        f"--server-address=127.0.0.1:{plan.ports.kwok}",
        "--v=WARN",  # at INFO it writes a line per renewed lease
    ]


_ARGUMENTS: dict[str, Callable[[Plan], list[str]]] = {
    "etcd": _etcd,
    "kube-apiserver": _apiserver,
    "kube-controller-manager": _controller_manager,
    "kube-scheduler": _scheduler,
    "kwok": _kwok,
}
