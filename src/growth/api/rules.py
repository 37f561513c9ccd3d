"""Rules that fields of several classes share, with the one sentence that people know them by."""

from typing import Final

from growth.api.schema import Rule

DURATION: Final = Rule(
    "self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$')", "must be a duration such as 90s, 10m or 1h30m"
)
NUMBER_OR_SHARE: Final = Rule(
    "string(self).matches('^([0-9]+|[0-9]{1,2}%|100%)$')", "must be a number such as 2 or a share such as 10%"
)
