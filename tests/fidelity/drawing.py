"""Cases drawn by number: the same seed and number always give the same case."""

import random

from tests.fidelity.draft import Case, Draft
from tests.fidelity.themes import THEMES
from tests.fidelity.volume_themes import VOLUME_THEMES

ALL_THEMES = {**THEMES, **VOLUME_THEMES}

# Themes with many rules come up more often, so that each rule decides some cases.
_MORE = {"spread": 5, "waiting_claim": 4, "affinity": 2, "anti_affinity": 2, "limits": 2, "disks": 2, "capacity": 2}
_TURNS = tuple(name for number in range(max(_MORE.values())) for name in ALL_THEMES if number < _MORE.get(name, 1))


def draw(seed: int, index: int, prefix: str = "") -> Case:
    """The case of this number; its themes take turns, and most cases mix two or three."""
    rng = random.Random(f"{seed}/{index}")  # noqa: S311 - repeatable, and no secret
    names = list(ALL_THEMES)
    themes = [_TURNS[index % len(_TURNS)]]
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        other = rng.choice(names)
        if other not in themes and not (_is_volume(other) and any(map(_is_volume, themes))):
            themes.append(other)
    draft = Draft(rng, prefix or f"c{index}")
    for theme in sorted(themes, key=names.index):
        ALL_THEMES[theme](draft)
    if draft.chance(0.5):
        draft.close_most()
    return draft.finish(seed, index, themes)


def _is_volume(theme: str) -> bool:
    return theme in VOLUME_THEMES
