"""From pods that wait to a PlacementSolution: the whole of packing, step by step.

1. Group the pods. 2. Fill free room on nodes that exist. 3. Find out which machines each group may be bought, and say
why where none. 4. Give zones to those whose rules need one. 5. Buy the cheapest machines and hand pods to them.
6. Place the odd ones one by one. 7. Check that the plan can be reached, and say whose places must be kept.

It changes the stage and takes every change back.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from growth.api.pod import Pod
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.colocation import tags_of
from growth.decide.solver.draft_plan import DraftPlan
from growth.decide.solver.eligible_types import EligibleTypes
from growth.decide.solver.equivalence_groups import EquivalenceGroup, grouped
from growth.decide.solver.existing_nodes import ExistingNodes
from growth.decide.solver.existing_pods import count_by_zone, mark_the_wary, zones_with_nodes
from growth.decide.solver.final_placement import SIFTED_PODS, check, place_singly
from growth.decide.solver.lower_bound import fluid_bound, spare_of
from growth.decide.solver.node_options import NodeOptions, without_tiers
from growth.decide.solver.node_selection import NodeSelection, NodeSelector
from growth.decide.solver.placement_solution import FilledNode, PlacementSolution, PlannedNode, UnplacedPod
from growth.decide.solver.pod_constraints import PLAIN
from growth.decide.solver.priority_levels import left_out_by_importance, plan_by_levels, wrongs_the_important
from growth.decide.solver.problem import Bools, Ints, StepBudget
from growth.decide.solver.problem_rows import NodeOptionTable, cliques_of, resources_of, rows_of
from growth.decide.solver.reachability import STANDS, to_keep
from growth.decide.solver.zone_assignment import ANYWHERE, Portion, ZoneDemand, ZonePlan, share_out


def plan(
    simulated: SimulatedCluster, pods: Sequence[Pod], node_options: NodeOptions, budget: StepBudget | None = None
) -> PlacementSolution:
    """The best answer within the budget. ``pods`` is demand (see fit.demand): what is not demand is not here."""
    if not pods:
        return PlacementSolution("NoDemands")
    mark = simulated.mark()
    planning = _Planning(simulated, pods, node_options, budget or StepBudget())
    try:
        return planning.run()
    finally:
        simulated.back_to(mark)
        planning.let_go()


class _Planning:
    def __init__(
        self, simulated: SimulatedCluster, pods: Sequence[Pod], node_options: NodeOptions, budget: StepBudget
    ) -> None:
        self._simulated, self._budget, self._pods = simulated, budget, pods
        self._start = simulated.mark()
        found = grouped(pods, simulated)
        self._groups, self._selectors = found.groups, found.selectors
        self._market, self._resources = node_options, resources_of(self._groups)
        self._existing: dict[str, list[Pod]] = {}
        self._left_out: list[UnplacedPod] = []
        self._queues: dict[int, list[Pod]] = {}
        self._has_rules_on_standing = False
        self._odd: list[int] = []
        self._spare: Ints | None = None  # [node, resource] what was free before anything was placed
        self._table: NodeOptionTable
        self._levels = sorted({group.priority for group in self._groups}, reverse=True)

    def run(self) -> PlacementSolution:
        mark_the_wary(self._simulated, self._groups, self._market)
        self._fill_standing()
        if not any(group.pods for group in self._groups) and not self._has_rules_on_standing:
            return self._without_buying()
        self._table = NodeOptionTable(self._market, self._resources)
        self._queues = {number: group.pods[::-1] for number, group in enumerate(self._groups) if group.pods}
        allowed = EligibleTypes(self._table, self._simulated)
        masks = allowed.masks(self._groups)
        able = self._refuse_hopeless(allowed, masks)
        if able and self._left_out and any(group.rules is not PLAIN for group in self._groups):
            return self._without_hopeless()
        self._odd = [number for number in able if self._groups[number].rules.is_odd]
        zones = self._zones([number for number in able if not self._groups[number].rules.is_odd], masks)
        tags = tags_of(self._groups, cliques_of(self._groups))
        buyer = NodeSelector(self._table, self._groups, masks, tags, self._budget)
        best: PlacementSolution | None = None
        is_small = sum(map(len, self._queues.values())) <= SIFTED_PODS
        for purchase in buyer.purchases(zones.portions, self._queues):
            # A small plan may lose machines when it is settled, so all of them are; to others repairs only add.
            price = best.bound_per_hour if is_small and best is not None else self._price_of(purchase)
            if best is not None and (len(best.left_out), best.cost_per_hour) <= (len(self._left_out), price + 1e-9):
                break
            mark = self._simulated.mark()
            solution = self._settled(zones, purchase, masks)
            self._simulated.back_to(mark)
            if best is None or self._rank(solution) < self._rank(best):
                best = solution
            if not is_small and len(best.left_out) <= len(self._left_out) and best.cost_per_hour <= price + 1e-9:
                break  # nothing had to be repaired, and those that come are dearer
        if best is None:
            return self._without_buying()
        return self._fairest(best, masks) if self._market.limits else best

    def _fairest(self, best: PlacementSolution, masks: Sequence[Bools]) -> PlacementSolution:
        """Where limits leave somebody out: the important first, and sooner another tier than one of them without."""
        kept_out = best.left_out[len(self._left_out) :]
        if wrongs_the_important(best, kept_out):
            best = min(best, self._by_levels(masks), key=self._rank)
        if kept_out and len({option.tier for option in self._market.options}) > 1:
            self._simulated.back_to(self._start)
            flat = _Planning(self._simulated, self._pods, without_tiers(self._market), self._budget).run()
            if self._rank(flat)[0] < self._rank(best)[0]:
                return flat
        return best

    def let_go(self) -> None:
        """Free the groups one by one: thousands in one go would keep other threads waiting for 10 ms."""
        while self._groups:
            self._groups.pop()

    def _by_levels(self, masks: Sequence[Bools]) -> PlacementSolution:
        """The important pods first, each level beside what is planned for those above it."""
        mark = self._simulated.mark()
        existing = {name: list(pods) for name, pods in self._existing.items()}
        sketch = DraftPlan(self._simulated, self._table, self._groups, masks, self._table.limit_left.copy(), existing)
        sketch.left_out += self._left_out
        waiting = [pod for queue in self._queues.values() for pod in reversed(queue)]
        plan_by_levels(
            sketch,
            waiting,
            lambda pods, node_options: _Planning(self._simulated, pods, node_options, self._budget).run(),
        )
        check(sketch, is_proven=False, is_cheapest=False, hopeless=len(self._left_out))
        solution = self._solution(sketch, self._fluid_bound(sketch))
        self._simulated.back_to(mark)
        return solution

    def _settled(self, zones: ZonePlan, purchase: NodeSelection, masks: Sequence[Bools]) -> PlacementSolution:
        """A purchase with everything repaired that it left open."""
        existing = {name: list(pods) for name, pods in self._existing.items()}
        sketch = DraftPlan(self._simulated, self._table, self._groups, masks, purchase.limits, existing)
        sketch.left_out += self._left_out
        for node in purchase.nodes:
            sketch.launched[sketch.new_name()] = (node.option, node.pods)
        singles = self._singles(zones, purchase)
        if singles:
            place_singly(sketch, singles)
        is_untouched = not singles and not self._has_rules_on_standing
        is_cheapest = is_untouched and purchase.is_optimal and self._is_free(zones) and self._spare is None
        is_proven = zones.is_proven and is_untouched
        check(sketch, is_proven=is_proven, is_cheapest=is_cheapest, hopeless=len(self._left_out))
        return self._solution(sketch, self._bound(sketch, purchase, zones))

    def _price_of(self, purchase: NodeSelection) -> float:
        options = self._table.node_options.options
        return sum(options[node.option].offering.price_per_hour for node in purchase.nodes)

    def _without_buying(self) -> PlacementSolution:
        nodes = [(STANDS, pods) for pods in self._existing.values()]
        filled = tuple(FilledNode(name, tuple(pods)) for name, pods in self._existing.items())
        return PlacementSolution("AllPlaced", existing=filled, keep=to_keep(nodes, [], self._slots))

    # 2. Free room

    def _fill_standing(self) -> None:
        if not self._simulated.nodes:
            return
        existing = ExistingNodes(self._simulated, self._resources)
        before = existing.free.copy()
        # Who is let in by others is asked once more when those have come.
        for group in [*self._groups, *(group for group in self._groups if group.rules.may_be_let_in_later)]:
            placed = existing.place(group) if group.pods else []
            if placed:
                self._has_rules_on_standing |= group.rules is not PLAIN or bool(group.carries)
                taken = {pod.metadata.uid for _, pods in placed for pod in pods}
                group.pods = [pod for pod in group.pods if pod.metadata.uid not in taken]
                for name, pods in placed:
                    self._existing.setdefault(name, []).extend(pods)
        if any(group.pods for group in self._groups):
            self._spare = before

    # 3. Machines for each group

    def _refuse_hopeless(self, allowed: EligibleTypes, masks: Sequence[Bools]) -> list[int]:
        able: list[int] = []
        for number in self._queues:
            if masks[number].any():
                able.append(number)
            else:
                self._leave_out(number, len(self._queues[number]), allowed.why_none(self._groups[number]))
        return able

    def _without_hopeless(self) -> PlacementSolution:
        """The plan for the others alone: a rule about somebody who gets no place must not cost anybody anything."""
        hopeless = {one.pod.metadata.uid for one in self._left_out}
        self._simulated.back_to(self._start)
        others = [pod for pod in self._pods if pod.metadata.uid not in hopeless]
        planned = _Planning(self._simulated, others, self._market, self._budget).run()
        left_out = (*self._left_out, *planned.left_out)
        return msgspec.structs.replace(planned, outcome="IncompletePlacement", left_out=left_out)

    def _leave_out(self, group: int, pods: int, reason: str) -> None:
        queue = self._queues[group]
        self._left_out += [UnplacedPod(pod, reason) for pod in queue[:pods]]
        del queue[:pods]

    # 4. Zones

    def _zones(self, able: Sequence[int], masks: Sequence[Bools]) -> ZonePlan:
        groups, table = self._groups, self._table
        ruled = [n for n in able if groups[n].rules.zone_spread or groups[n].rules.zone_apart]
        ruled += [n for n in able if groups[n].rules.zone_together]
        if not ruled:
            portions = [Portion(number, ANYWHERE, len(self._queues[number])) for number in able]
            return ZonePlan(portions)
        zones_of: dict[int, tuple[tuple[str, ...], int]] = {}
        spread: dict[int, EquivalenceGroup] = {}
        asks: list[ZoneDemand] = []
        for number in able:
            mask, group = masks[number], groups[number]
            known = zones_of.get(id(mask))
            if known is None:
                known = zones_of[id(mask)] = table.zones_of(group, mask)
            closed: tuple[str, ...] = ()
            if group.rules.zone_spread:
                closed = tuple(sorted(zones_with_nodes(self._simulated, group) - set(known[0])))
                spread.setdefault(group.rules.zone_spread[0][0], group)
            asks.append(ZoneDemand(number, len(self._queues[number]), known[0], closed, known[1]))
        context = count_by_zone(self._simulated, self._selectors, spread)
        plan = share_out(groups, asks, context.counts)
        plan.is_proven = plan.is_proven and not context.uncounted
        for group, number, reason in plan.refused:
            self._leave_out(group, number, reason)
        return plan

    # 6. The odd ones

    def _singles(self, zones: ZonePlan, purchase: NodeSelection) -> list[tuple[int, list[Pod]]]:
        """Pods that must be placed one by one: odd ones, and those for which the packing found no place."""
        singles: list[tuple[int, list[Pod]]] = []
        for number, pods in [*zones.odd, *((portion.group, portion.count) for portion in purchase.left)]:
            queue = purchase.queues[number]
            singles.append((number, queue[:pods]))
            del queue[:pods]
        singles += [(number, purchase.queues.pop(number)) for number in self._odd]
        unplaced = {pod.metadata.uid: pod for pod in purchase.unplaced}
        if unplaced:
            for number, group in enumerate(self._groups):
                singles.append((number, [unplaced[uid] for uid in group.uids if uid in unplaced]))
        return [(number, pods) for number, pods in singles if pods]

    # 7. Tell

    def _rank(self, solution: PlacementSolution) -> tuple[tuple[int, ...], float, int]:
        """What makes a plan better: nobody important left out, then cheaper, then fewer machines."""
        left_out = left_out_by_importance(self._levels, solution.left_out)
        return left_out, round(solution.cost_per_hour, 9), len(solution.launch)

    def _solution(self, sketch: DraftPlan, bound: float) -> PlacementSolution:
        options = self._table.node_options.options
        launch = [
            PlannedNode(name, options[option].pool, options[option].offering, tuple(pods))
            for name, (option, pods) in sketch.launched.items()
        ]
        cost = sum(node.offering.price_per_hour for node in launch)
        nodes = [*sketch.launched.values(), *((STANDS, pods) for pods in sketch.existing.values())]
        distinct = list({id(mask): mask for mask in sketch.masks}.values())
        return PlacementSolution(
            outcome="IncompletePlacement" if sketch.left_out else "AllPlaced",
            launch=tuple(launch),
            existing=tuple(FilledNode(name, tuple(pods)) for name, pods in sketch.existing.items()),
            left_out=tuple(sketch.left_out),
            keep=to_keep(nodes, distinct, self._slots, self._rivals(sketch)),
            cost_per_hour=cost,
            bound_per_hour=min(cost, bound),
        )

    def _rivals(self, sketch: DraftPlan) -> list[Bools]:
        """What those would take who are left out, if it stood open."""
        out = {one.pod.metadata.uid for one in sketch.left_out}
        if not out:
            return []
        return [sketch.masks[number] for number, group in enumerate(self._groups) if not out.isdisjoint(group.uids)]

    def _slots(self, option: int, pod: Pod) -> int:
        room = self._market.options[option].room
        requests = self._simulated.requests(pod)
        return min(room.get(name, 0) // amount for name, amount in requests.items() if amount and name in room)

    def _bound(self, sketch: DraftPlan, purchase: NodeSelection, zones: ZonePlan) -> float:
        """What placing these pods costs at least, if possible as the search has proved it."""
        is_whole = not (self._has_use_for_room(sketch) or zones.odd or self._odd)
        is_whole = is_whole and len(sketch.left_out) == len(self._left_out) and not self._table.has_gifts
        if is_whole and purchase.bound is not None and (not purchase.is_optimal or self._is_free(zones)):
            return purchase.bound
        return self._fluid_bound(sketch)

    def _fluid_bound(self, sketch: DraftPlan) -> float:
        """The bound for everybody who is placed; room that exists is free, and may be cut into fractions, too."""
        if not sketch.launched:
            return 0.0
        out = {one.pod.metadata.uid for one in sketch.left_out}
        portions = [
            Portion(number, ANYWHERE, placed)
            for number, group in enumerate(self._groups)
            if (placed := len(group.uids) - sum(uid in out for uid in group.uids)) and sketch.masks[number].any()
        ]
        everything = np.arange(len(self._table.node_options.options))
        rows = rows_of(self._table, self._groups, portions, sketch.masks, everything)
        spare = None
        if self._spare is not None and self._has_use_for_room(sketch):
            spare = spare_of(self._spare // rows.unit, rows.problem.need)
        return fluid_bound(replace(rows.problem, price=self._table.true_price), spare).cost

    def _has_use_for_room(self, sketch: DraftPlan) -> bool:
        """Whether some plan may use room that exists: pods without rules that found none there never will."""
        return bool(sketch.existing) or (self._spare is not None and any(g.rules is not PLAIN for g in self._groups))

    def _is_free(self, zones: ZonePlan) -> bool:
        """Whether nothing was decided before packing that another plan could decide differently.

        A cap on pods of a node is such a decision if it comes from their spread: where all nodes have one, all may
        have two.
        """
        is_capped = any(group.rules.host_caps for group in self._groups)
        return not is_capped and all(portion.zone == ANYWHERE for portion in zones.portions)
