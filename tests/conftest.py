"""For all tests: properties print how to repeat a failure, and no clock of a busy machine fails them.

On a developer's machine every run draws new examples. CI draws the same ones each time: it must say whether a change
broke something, not whether luck found something old. `make check` draws a quarter of what `make test` draws
(tests/drawing.py).
"""

import os

from hypothesis import settings

from tests.drawing import FEW, MANY, THOROUGH

_FOR_ALL = settings(deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI")))
settings.register_profile("growth", _FOR_ALL, max_examples=FEW)
settings.register_profile(THOROUGH, _FOR_ALL, max_examples=MANY)
settings.load_profile("growth")
