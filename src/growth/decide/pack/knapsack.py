"""The best content of one machine: a bounded knapsack in several resources, searched depth first.

The next pod is always taken from the list whose resource has more left: filling from one list alone would use up CPU
and strand memory. The search goes down greedily, comes back pod by pod, and skips whatever the bound says cannot beat
the best found so far. In steps, not in seconds, so it always ends with the same answer.
"""

from growth.decide.pack.shelves import Fields, Shelf


def best_content(  # noqa: PLR0912, PLR0915 - one loop, because a call costs more than a step
    shelf: Shelf, fields: Fields, left: list[int], steps: int, seed: int = -1
) -> tuple[float, list[tuple[int, int]]]:
    """The most valuable content found within the steps: its value and (row, pods) pairs; the seed is surely in it.

    If the machine does not take the seed, nothing: (-1, []).
    """
    guard, room = fields.guard, fields.rooms[shelf.kind]
    one, two = shelf.sides
    rows_1, value_1, size_1, pods_1, most_1, density_1 = one.rows, one.value, one.size, one.pods, one.most, one.density
    rows_2, value_2, size_2, pods_2, most_2, density_2 = two.rows, two.value, two.size, two.pods, two.most, two.density
    first_1, second_1, first_2, second_2 = one.first, one.second, two.first, two.second
    end_1, end_2 = len(rows_1), len(rows_2)
    used_1, used_2 = [0] * end_1, [0] * end_2
    free_first = free_second = 1.0
    size_left, worth = 1.0 + 1e-9, 0.0
    if seed >= 0:
        side, used = (one, used_1) if seed in rows_1 else (two, used_2)
        if seed in side.rows:
            at = side.rows.index(seed)
            used[at] = 1
            seeded = (side.value[at], side.size[at], side.pods[at], side.first[at], side.second[at])
        elif seed in shelf.others:
            seeded = shelf.others[seed]
        else:
            return -1.0, []
        worth = seeded[0]
        size_left -= seeded[1]
        room -= seeded[2]
        free_first -= seeded[3]
        free_second -= seeded[4]
    best = -1.0
    best_picks: list[tuple[int, int, int]] = []
    picks: list[tuple[int, int, int]] = []
    at_1 = at_2 = 0
    while True:
        # Go down: pod by pod, from the list whose resource has more left, while that could still beat the best.
        while True:
            top_1, top_2 = density_1[at_1], density_2[at_2]
            if worth + size_left * (top_1 if top_1 > top_2 else top_2) <= best:  # noqa: FURB136 - max() costs a call
                break
            steps -= 1
            if at_1 < end_1 and (free_first >= free_second or at_2 >= end_2):
                used = used_1[at_1]
                if used < most_1[at_1] and used < left[rows_1[at_1]] and (room - pods_1[at_1]) & guard == guard:
                    picks.append((1, at_1, at_2))
                    used_1[at_1] = used + 1
                    room -= pods_1[at_1]
                    free_first -= first_1[at_1]
                    free_second -= second_1[at_1]
                    size_left -= size_1[at_1]
                    worth += value_1[at_1]
                else:
                    at_1 += 1
            elif at_2 < end_2:
                used = used_2[at_2]
                if used < most_2[at_2] and used < left[rows_2[at_2]] and (room - pods_2[at_2]) & guard == guard:
                    picks.append((2, at_2, at_1))
                    used_2[at_2] = used + 1
                    room -= pods_2[at_2]
                    free_first -= first_2[at_2]
                    free_second -= second_2[at_2]
                    size_left -= size_2[at_2]
                    worth += value_2[at_2]
                else:
                    at_2 += 1
            else:
                break
        if worth > best:
            best, best_picks = worth, picks.copy()
        if steps <= 0:
            break
        # Come back: without the last pod taken and without its row, if that could still beat the best.
        while picks:
            side, at, other = picks.pop()
            steps -= 1
            if side == 1:
                used_1[at] -= 1
                room += pods_1[at]
                free_first += first_1[at]
                free_second += second_1[at]
                size_left += size_1[at]
                worth -= value_1[at]
                at_1, at_2 = at + 1, other
            else:
                used_2[at] -= 1
                room += pods_2[at]
                free_first += first_2[at]
                free_second += second_2[at]
                size_left += size_2[at]
                worth -= value_2[at]
                at_2, at_1 = at + 1, other
            top_1, top_2 = density_1[at_1], density_2[at_2]
            if worth + size_left * (top_1 if top_1 > top_2 else top_2) > best + 1e-12:  # noqa: FURB136
                break
        else:
            break
    content: dict[int, int] = {seed: 1} if seed >= 0 else {}
    for side, at, _ in best_picks:
        row = rows_1[at] if side == 1 else rows_2[at]
        content[row] = content.get(row, 0) + 1
    return best, sorted(content.items())
