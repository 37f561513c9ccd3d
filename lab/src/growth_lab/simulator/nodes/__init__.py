"""Machines with kubelets: they register, renew leases, run pods, fail and return.

Two kinds of them run side by side. What carries the label that ``growth cluster``'s kwok selects on behaves as under
kwok, so that stories can be played on both; machines that are booted here behave as a real kubelet does, as far as the
API server sees it. Nothing ticks: a heartbeat is worked out when somebody looks.
"""

from growth_lab.simulator.nodes.heartbeats import Heartbeats
from growth_lab.simulator.nodes.kubelets import Kubelets
from growth_lab.simulator.nodes.machine import Machine

__all__ = ["Heartbeats", "Kubelets", "Machine"]
