"""Cases drawn by number: the same seed and number always give the same case."""

import random

from tests.fidelity.draft import Case, Draft
from tests.fidelity.themes import THEMES
from tests.fidelity.volume_themes import VOLUME_THEMES

ALL_THEMES = {**THEMES, **VOLUME_THEMES}


def draw(seed: int, index: int, prefix: str = "") -> Case:
    """The case of this number; its themes take turns, and most cases mix two or three."""
    rng = random.Random(f"{seed}/{index}")  # noqa: S311 - repeatable, and no secret
    names = list(ALL_THEMES)
    themes = [names[index % len(names)]]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        other = rng.choice(names)
        if other not in themes and not (_is_volume(other) and any(map(_is_volume, themes))):
            themes.append(other)
    draft = Draft(rng, prefix or f"c{index}")
    for theme in sorted(themes, key=names.index):
        ALL_THEMES[theme](draft)
    return draft.finish(seed, index, themes)


def _is_volume(theme: str) -> bool:
    return theme in VOLUME_THEMES
