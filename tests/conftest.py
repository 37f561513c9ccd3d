"""For all tests: properties print how to repeat a failure, and no clock of a busy machine fails them.

On a developer's machine every run draws new examples. CI draws the same ones each time: it must say whether a change
broke something, not whether luck found something old.
"""

import os

from hypothesis import settings

settings.register_profile("growth", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI")))
settings.load_profile("growth")
