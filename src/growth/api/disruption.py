"""How much of a pool may be disturbed, for which reason and when: what people write down as budgets.

What a text means is worked out in ``decide/consolidation``. The rules here refuse what is plainly no schedule and no
time zone; whether 31 February comes or Europe/Atlantis exists, the pool's condition says.
"""

from typing import Annotated, ClassVar, Final, Literal

from growth.api.meta import FrozenValue
from growth.api.schema import DURATION, Rule, about

Reason = Literal["Cheaper", "Drifted", "Expired", "Deprecated", "Requested"]
"""Why a node goes although it works: only the first has to pay."""

SCHEDULE: Final = Rule(
    "self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)"
    "|[0-9A-Za-z*/,-]+( +[0-9A-Za-z*/,-]+){4})$')",
    "must be five fields of cron (minute, hour, day of month, month, day of week) such as '0 9 * * mon-fri', or one of "
    "@hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually",
)
TIME_ZONE: Final = Rule(
    "self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$')",
    "must be the IANA name of a time zone such as UTC or Europe/Berlin",
)
# What is no duration at all has its own sentence, and would break this rule instead of failing it.
WINDOW: Final = Rule(
    f"!{DURATION.rule} || (duration(self) > duration('0s') && duration(self) <= duration('8784h'))",
    "must be more than nothing and at most 8784h, a year",
)


class DisruptionBudget(FrozenValue, frozen=True):
    """How many nodes of the pool may be on their way out at one time, for some reasons and at some times."""

    nodes: Annotated[
        int | str,
        # No rule: of a list of texts without bounds the API server would not pay for one. The pool's condition says it.
        about("So many nodes of the pool, or such a share of them, rounded up; 0 means none."),
    ]
    reasons: Annotated[tuple[Reason, ...], about("What it is about; none named means every reason.", max_length=5)] = ()
    schedule: (
        Annotated[
            str,
            about(
                "When it begins to hold, as cron, such as '0 9 * * mon-fri' or @daily; unset means it always holds.",
                SCHEDULE,
                max_length=128,
            ),
        ]
        | None
    ) = None
    time_zone: Annotated[
        str, about("Whose clock the schedule means, such as Europe/Berlin.", TIME_ZONE, max_length=64)
    ] = "UTC"
    duration: (
        Annotated[str, about("How long it holds each time, such as 8h.", DURATION, WINDOW, max_length=32)] | None
    ) = None
    rules: ClassVar = (
        Rule(
            "has(self.schedule) == has(self.duration)",
            "schedule and duration go together: one says when the budget begins to hold, the other for how long",
        ),
    )
