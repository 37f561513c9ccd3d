"""NoExecute taints of unready nodes: who gets one when, and why sometimes nobody does."""

import math
from typing import Final

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.node_taints import NO_EXECUTE, NOT_READY, UNREACHABLE, Mark, marks, swapped
from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.served_kinds import NODES
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.zone_disruption import Brake, ZoneState, rate_of, state_of

_WANTED: Final[dict[str, Mark]] = {"False": (NOT_READY, NO_EXECUTE), "Unknown": (UNREACHABLE, NO_EXECUTE)}
_BOTH: Final = tuple(_WANTED.values())
# Who is in line is looked at ten times a second.
_PASS_SECONDS: Final = 0.1
_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"


class _Zone:
    def __init__(self, rate: float, now: float) -> None:
        self.state: ZoneState | None = None
        self.nodes: dict[str, bool] = {}
        """Whether each node is ready, as of the last look."""
        self.line: dict[str, None] = {}
        self.brake = Brake(rate, now)
        self.is_waiting = False


class ZoneEvictions:
    """Told of changed nodes at each look of the lifecycle controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store, self._timings = clock, store, timings
        self._zones: dict[str, _Zone] = {}
        self._zone_of: dict[str, str] = {}

    def consider(self, name: str) -> None:
        """A node may have become ready, unready, or changed its zone or taints."""
        node = self._store.get(NODES, name)
        key = _zone_key(node) if node is not None else None
        known = self._zone_of.get(name)
        if known is not None and known != key:
            zone = self._zones[known]
            zone.nodes.pop(name, None)
            zone.line.pop(name, None)
            del self._zone_of[name]
        if node is None or key is None:
            return
        is_new = name not in self._zone_of
        self._zone_of[name] = key
        zone = self._zones.get(key)
        if zone is None:
            zone = self._zones[key] = _Zone(self._timings.node_evictions_per_second, self._clock.seconds())
        ready = condition_of(node, "Ready")
        if is_new:
            node = self._untaint(node)
        zone.line.pop(name, None)
        if _EXCLUDED not in part(node, "metadata", "labels"):
            zone.nodes[name] = ready is not None and ready["status"] == "True"
        if ready is None:
            return
        wanted = _WANTED.get(ready["status"])
        if wanted is None:
            self._untaint(node)
        elif wanted not in marks(node):
            self._taint_or_line_up(zone, node, wanted)

    def judge_zones(self) -> None:
        """How the zones are now, and what that means for the speed."""
        for key in [key for key, zone in self._zones.items() if not zone.nodes]:
            del self._zones[key]
        states: dict[str, ZoneState] = {
            key: state_of(sum(zone.nodes.values()), _unready(zone)) for key, zone in self._zones.items()
        }
        all_are_down = bool(states) and all(state == "Full" for state in states.values())
        all_were_down = all(zone.state == "Full" for zone in self._zones.values())
        now = self._clock.seconds()
        for key, zone in self._zones.items():
            if all_are_down and not all_were_down:
                zone.brake.change(0.0, now)
            elif not all_are_down and (all_were_down or zone.state != states[key]):
                zone.brake.change(rate_of(states[key], len(zone.nodes), self._timings), now)
        if all_are_down and not all_were_down:
            # It must be us who cannot see them.
            for zone in self._zones.values():
                for name in list(zone.nodes):
                    self._take_back(zone, name)
        for key, zone in self._zones.items():
            zone.state = states[key]
            self._pass_later(zone)

    def _take_back(self, zone: _Zone, name: str) -> None:
        node = self._store.get(NODES, name)
        if node is not None:
            self._untaint(node)
            zone.line[name] = None  # in line again, before a brake that lets nobody pass

    def _taint_or_line_up(self, zone: _Zone, node: Json, wanted: Mark) -> None:
        opposite = next(mark for mark in _BOTH if mark != wanted)
        if opposite in marks(node):
            self._swap(node, wanted, opposite)
        else:
            zone.line[node["metadata"]["name"]] = None

    def _pass_later(self, zone: _Zone) -> None:
        if not zone.line or zone.is_waiting:
            return
        pause = zone.brake.next_token(self._clock.seconds())
        if pause is not None:
            zone.is_waiting = True
            passes = max(1, math.ceil(pause / _PASS_SECONDS - 1e-9))
            self._clock.after(passes * _PASS_SECONDS, lambda: self._pass(zone))

    def _pass(self, zone: _Zone) -> None:
        zone.is_waiting = False
        while zone.line and zone.brake.has_token(self._clock.seconds()):
            name = next(iter(zone.line))
            del zone.line[name]
            node = self._store.get(NODES, name)
            ready = condition_of(node, "Ready") if node is not None else None
            wanted = _WANTED.get(ready["status"]) if ready is not None else None
            if node is not None and wanted is not None:
                self._swap(node, wanted, next(mark for mark in _BOTH if mark != wanted))
        self._pass_later(zone)

    def _swap(self, node: Json, add: Mark, remove: Mark) -> None:
        taints = swapped(node, (add,), (remove,), self._clock.stamp())
        if taints is not None:
            self._store.patch(NODES, node["metadata"]["name"], patch={"spec": {"taints": taints or None}})

    def _untaint(self, node: Json) -> Json:
        taints = swapped(node, (), _BOTH, self._clock.stamp())
        if taints is None:
            return node
        return self._store.patch(NODES, node["metadata"]["name"], patch={"spec": {"taints": taints or None}})


def _unready(zone: _Zone) -> int:
    return sum(not is_ready for is_ready in zone.nodes.values())


def _zone_key(node: Json) -> str:
    """Region and zone, by the new labels or the old ones."""
    labels = part(node, "metadata", "labels")
    region = labels.get("topology.kubernetes.io/region", labels.get("failure-domain.beta.kubernetes.io/region", ""))
    zone = labels.get("topology.kubernetes.io/zone", labels.get("failure-domain.beta.kubernetes.io/zone", ""))
    return f"{region}/{zone}"
