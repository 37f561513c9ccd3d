"""For all tests: properties print how to repeat a failure, and no clock of a busy machine fails them."""

from hypothesis import settings

settings.register_profile("growth", deadline=None, print_blob=True)
settings.load_profile("growth")
