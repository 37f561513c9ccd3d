"""The seed of a comparison that draws anew each time: printed, so that it can be given again."""

import os
import secrets

VARIABLE = "GROWTH_FIDELITY_SEED"


def new_seed() -> int:
    """The seed that the environment names, or a new one; pytest shows it if the test fails."""
    seed = int(os.environ.get(VARIABLE) or secrets.randbelow(1_000_000))
    print(f"{VARIABLE}={seed}")  # noqa: T201
    return seed
