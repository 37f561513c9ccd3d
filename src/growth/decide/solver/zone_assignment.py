"""Water into vessels: how many pods go to each zone so that all end as level as possible.

Which zone each group goes to, decided before anything is packed, so that the rules about zones hold in any order.

A plan can be right as a whole and still be unreachable: pod a may wait for pod b while b waits for a. Two ways of
sharing out zones cannot deadlock, and only they are called proven here:

- *Level.* If every pod that must be spread over selector s is itself selected by s, zones are filled to the same level.
  While one of them waits in a zone, a lower zone still has some to come.
- *Low zone.* If others are spread over s, too, one zone is kept lowest in s: they go there, and pods selected by s that
  may go anywhere go elsewhere. So that zone is the minimum whatever comes first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.pod_constraints import PodConstraints


def levelled(pods: int, zones: Sequence[str], have: Mapping[str, int], ceiling: int | None = None) -> dict[str, int]:
    """How many to add to each zone, the lowest first, none above the ceiling; equal zones in the order given.

    What does not fit under the ceiling is not in the answer: compare its sum with ``pods``.
    """
    if not zones or pods <= 0:
        return {}
    if len(zones) == 1:
        most = pods if ceiling is None else min(pods, ceiling - have.get(zones[0], 0))
        return {zones[0]: most} if most > 0 else {}
    room = [max(0, ceiling - have.get(zone, 0)) if ceiling is not None else pods for zone in zones]
    pods = min(pods, sum(room))
    low, high = 0, max(have.get(zone, 0) for zone in zones) + pods
    # The highest level that the water fills completely.
    while low < high:
        level = (low + high + 1) // 2
        if sum(_rise(have.get(zone, 0), level, most) for zone, most in zip(zones, room, strict=True)) <= pods:
            low = level
        else:
            high = level - 1
    added = {zone: _rise(have.get(zone, 0), low, most) for zone, most in zip(zones, room, strict=True)}
    rest = pods - sum(added.values())
    for zone, most in zip(zones, room, strict=True):
        if rest and added[zone] < most and have.get(zone, 0) + added[zone] == low:
            added[zone] += 1
            rest -= 1
    return {zone: number for zone, number in added.items() if number}


def _rise(have: int, level: int, most: int) -> int:
    return min(most, max(0, level - have))


ANYWHERE = ""


@dataclass(frozen=True, slots=True)
class Portion:
    """So many pods of a group, for one zone or ANYWHERE."""

    group: int
    zone: str
    count: int


@dataclass(frozen=True, slots=True)
class ZoneDemand:
    """One group that needs machines."""

    group: int
    count: int
    zones: tuple[str, ...]
    """Where machines for it can be bought, in order of preference."""

    closed: tuple[str, ...] = ()
    """Zones with nodes that count for its spread, but where nothing can be bought."""

    equals: int = 1 << 30
    """So many of the first zones are equally good for it."""


@dataclass(slots=True)
class ZonePlan:
    """Who goes where, who must be asked about one by one, and who cannot go anywhere, with the reason."""

    portions: list[Portion] = field(default_factory=list[Portion])
    odd: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    refused: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    is_proven: bool = True


def share_out(
    groups: Sequence[EquivalenceGroup], asks: Sequence[ZoneDemand], existing: Mapping[int, Mapping[str, int]]
) -> ZonePlan:
    """Give every ask a zone where its rules need one; ``standing`` counts the pods there are, by selector and zone."""
    return _Sharing(groups, asks, existing).run()


class _Sharing:
    def __init__(
        self, groups: Sequence[EquivalenceGroup], asks: Sequence[ZoneDemand], existing: Mapping[int, Mapping[str, int]]
    ) -> None:
        self._groups, self._asks, self._standing = groups, asks, existing
        self._plan = ZonePlan()
        spreading = {s for ask in asks for s, _ in groups[ask.group].rules.zone_spread}
        self._spread = sorted(spreading)
        read = spreading | set(existing)
        read |= {s for ask in asks for s in (*self._rules(ask).zone_apart, *self._rules(ask).zone_together)}
        self._count: dict[int, dict[str, int]] = {s: dict(existing.get(s, {})) for s in sorted(read)}
        # Pods that come to their zone in any order, whatever else happens.
        self._sure: dict[int, dict[str, int]] = {s: dict(existing.get(s, {})) for s in self._spread}
        self._numbers: dict[int, tuple[int, ...]] = {}
        self._low: dict[int, str] = {}
        self._filled: dict[int, set[str]] = {s: set() for s in self._spread}
        self._load: dict[str, int] = {}

    def _rules(self, ask: ZoneDemand) -> PodConstraints:
        return self._groups[ask.group].rules

    def run(self) -> ZonePlan:
        by_rule: dict[str, list[ZoneDemand]] = {"apart": [], "together": [], "spread": [], "free": []}
        for ask in self._asks:
            rules = self._rules(ask)
            if rules.zone_apart:
                by_rule["apart"].append(ask)
            elif rules.zone_together:
                by_rule["together"].append(ask)
            elif rules.zone_spread:
                by_rule["spread"].append(ask)
            else:
                by_rule["free"].append(ask)
        self._choose_low_zones(by_rule["spread"])
        for ask in by_rule["apart"]:
            self._apart(ask)
        # Who may follow others waits until those have their zones: being the first is only for those without others.
        lone = self._without_others(by_rule["together"])
        waiting = self._together([ask for ask in by_rule["together"] if self._rules(ask).zone_together[0] in lone])
        waiting += [ask for ask in by_rule["together"] if self._rules(ask).zone_together[0] not in lone]
        for ask in by_rule["free"]:
            self._free(ask)
        for ask in by_rule["spread"]:
            self._spread_out(ask)
        for ask in self._together(waiting):
            self._plan.odd.append((ask.group, ask.count))
        self._prove(by_rule["spread"])
        self._plan.is_proven = self._plan.is_proven and self._all_find_company(by_rule["together"])
        return self._plan

    def _put(self, ask: ZoneDemand, zone: str, pods: int, *, is_sure: bool) -> None:
        self._plan.portions.append(Portion(ask.group, zone, pods))
        self._load[zone] = self._load.get(zone, 0) + pods
        for s in self._carried(ask):
            counts = self._count[s]
            counts[zone] = counts.get(zone, 0) + pods
            if is_sure and s in self._sure:
                self._sure[s][zone] = self._sure[s].get(zone, 0) + pods

    def _carried(self, ask: ZoneDemand) -> tuple[int, ...]:
        """The selectors in play that select these pods."""
        carries = self._groups[ask.group].carries
        known = self._numbers.get(carries)
        if known is None:
            known = self._numbers[carries] = tuple(s for s in self._count if carries >> s & 1)
        return known

    def _carries(self, ask: ZoneDemand, selector: int) -> bool:
        return bool(self._groups[ask.group].carries >> selector & 1)

    def _choose_low_zones(self, spread: Sequence[ZoneDemand]) -> None:
        """For each selector over which pods are spread that it does not select: the zone to be kept lowest."""
        zones: dict[int, list[str]] = {}
        foreign: set[int] = set()
        for ask in spread:
            selector = self._rules(ask).zone_spread[0][0]
            zones[selector] = [z for z in zones.get(selector, ask.zones) if z in ask.zones]
            if not self._carries(ask, selector):
                foreign.add(selector)
        for turn, selector in enumerate(sorted(foreign)):
            here = zones[selector]
            if here:
                counts = self._count[selector]
                self._low[selector] = min(here, key=lambda z: (counts.get(z, 0), (here.index(z) - turn) % len(here)))

    def _apart(self, ask: ZoneDemand) -> None:
        """One in each zone, and three zones are three nodes at once."""
        selector = self._rules(ask).zone_apart[0]
        is_shared = any(
            self._carries(other, selector) and self._rules(other).zone_apart != (selector,) for other in self._asks
        )
        if not self._carries(ask, selector) or is_shared:
            self._plan.odd.append((ask.group, ask.count))
            return
        free = [zone for zone in ask.zones if not self._count[selector].get(zone)]
        for zone in free[: ask.count]:
            self._put(ask, zone, 1, is_sure=True)
        if ask.count > len(free):
            where = f"each of the {len(ask.zones)} zones that can be bought in has one, or will"
            reason = f"must be the only one of its kind in a zone (anti-affinity); {where}"
            self._plan.refused.append((ask.group, ask.count - len(free), reason))

    def _without_others(self, together: Sequence[ZoneDemand]) -> set[int]:
        """Selectors that select nobody but pods that want to be together themselves."""
        lone = {self._rules(ask).zone_together[0] for ask in together}
        for ask in self._asks:
            if lone and not self._rules(ask).zone_together:
                lone.difference_update(self._carried(ask))
        return lone

    def _together(self, asks: Sequence[ZoneDemand]) -> list[ZoneDemand]:
        """Groups that want to be in one zone with others; returned are those whose others are nowhere yet."""
        waiting = list(asks)
        while True:
            left: list[ZoneDemand] = []
            for ask in waiting:
                selector = self._rules(ask).zone_together[0]
                at = [zone for zone in ask.zones if self._count[selector].get(zone)]
                elsewhere = any(self._count[selector].values())
                if at:
                    self._put(ask, at[0], ask.count, is_sure=True)
                elif elsewhere or not self._carries(ask, selector) or not ask.zones:
                    left.append(ask)
                else:
                    self._put(ask, self._home(ask), ask.count, is_sure=True)
            if len(left) == len(waiting):
                return left
            waiting = left

    def _home(self, ask: ZoneDemand) -> str:
        """A zone that is not the low one of a label these pods carry; of the best, the least loaded."""
        low = {self._low[s] for s in self._carried(ask) if s in self._low}
        places = [
            (zone in low, max(at, ask.equals - 1), self._load.get(zone, 0), at) for at, zone in enumerate(ask.zones)
        ]
        return ask.zones[min(places)[3]]

    def _free(self, ask: ZoneDemand) -> None:
        """Pods that may go anywhere: if somebody is spread over them, they are shared out, too."""
        carried = [s for s in self._carried(ask) if s in self._filled]
        if not carried or len(ask.zones) < 2:
            self._put(ask, ask.zones[0] if carried and ask.zones else ANYWHERE, ask.count, is_sure=True)
            return
        low = {self._low[s] for s in carried if s in self._low}
        zones = [zone for zone in ask.zones if zone not in low] or list(ask.zones)
        for zone, pods in levelled(ask.count, zones, self._count[carried[0]]).items():
            self._put(ask, zone, pods, is_sure=True)

    def _spread_out(self, ask: ZoneDemand) -> None:
        selector, skew = self._rules(ask).zone_spread[0]
        counts = self._count[selector]
        ceiling = min((counts.get(zone, 0) for zone in ask.closed), default=None)
        ceiling = None if ceiling is None else ceiling + skew
        zones = [self._low[selector]] if selector in self._low else list(ask.zones)
        if self._carries(ask, selector):
            shares = levelled(ask.count, zones, counts, ceiling)
        else:
            # Nobody of them counts, so where one may go all may.
            shares = levelled(ask.count, [z for z in zones if ceiling is None or counts.get(z, 0) <= ceiling], {})
        for zone, pods in shares.items():
            self._put(ask, zone, pods, is_sure=False)
            self._filled[selector].add(zone)
        missing = ask.count - sum(shares.values())
        if missing:
            closed = ", ".join(ask.closed)
            reason = f"must be spread over zones (maxSkew {skew}), and nothing can be bought in {closed or 'any zone'}"
            self._plan.refused.append((ask.group, missing, reason))

    def _prove(self, spread: Sequence[ZoneDemand]) -> None:
        """Whether the spread holds whatever order the scheduler takes the pods in; see the module's words."""
        # Pods on nodes that others do not look at count for some and not for others.
        looks: dict[int, set[int]] = {selector: set() for selector in self._spread}
        for ask in self._asks:
            for selector in (*self._carried(ask), *(s for s, _ in self._rules(ask).zone_spread)):
                if selector in looks:
                    looks[selector].add(self._groups[ask.group].node_rules)
        self._plan.is_proven = all(len(options) <= 1 for options in looks.values())
        for ask in spread:
            selector, skew = self._rules(ask).zone_spread[0]
            counts, sure = self._count[selector], self._sure[selector]
            domains = {*ask.zones, *ask.closed}
            if selector in self._low:
                low = self._low[selector]
                others = [sure.get(zone, 0) for zone in domains if zone != low]
                is_fine = not others or counts.get(low, 0) - min(others) <= skew
            else:
                highest = max((counts.get(zone, 0) for zone in self._filled[selector]), default=0)
                is_fine = highest - min((counts.get(zone, 0) for zone in domains), default=0) <= skew
            self._plan.is_proven = self._plan.is_proven and is_fine

    def _all_find_company(self, together: Sequence[ZoneDemand]) -> bool:
        """Whether those who want to be together get there in any order.

        Somebody they follow stands in their zone or comes there unconditionally; or they are the only ones of their
        kind, wherever one looks, so that whoever comes first opens the right zone.
        """
        homes: dict[int, set[str]] = {}
        certain: set[tuple[int, str]] = set()
        wanted = {self._rules(ask).zone_together[0] for ask in together}
        for portion in self._plan.portions:
            group = self._groups[portion.group]
            for selector in wanted:
                if group.carries >> selector & 1:
                    homes.setdefault(selector, set()).add(portion.zone)
                    if not group.rules.zone_together and not group.rules.zone_spread:
                        certain.add((selector, portion.zone))
        for portion in self._plan.portions:
            for selector in self._groups[portion.group].rules.zone_together:
                existing = self._standing.get(selector, {})
                is_met = bool(existing.get(portion.zone)) or (selector, portion.zone) in certain
                if not is_met and (existing or homes.get(selector) != {portion.zone}):
                    return False
        return True
