"""How much properties draw: few examples in ``make check``, which people wait for, and all of them in ``make test``.

``make test`` plays every property again under the profile ``thorough``; so does whoever must not miss a defect
(tests/trust/mutants.py). By hand: ``pytest --hypothesis-profile=thorough tests/decide``.
"""

from typing import Final

from hypothesis import settings

FEW: Final = 25
MANY: Final = 100
THOROUGH: Final = "thorough"


def examples(all_of_them: int) -> int:
    """How many to draw where it is not the usual number: under the usual profile a quarter, and two at least."""
    return max(2, all_of_them * settings().max_examples // MANY)
