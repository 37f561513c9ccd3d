"""docs/hetzner.md says what the code does."""

import re

from growth.cloud.hetzner.provider_errors import MEANINGS, ApiRefused, error_from
from tests.repository import page_text

PAGE = page_text("hetzner")


def test_every_code_stands_in_the_row_of_its_error() -> None:
    section = PAGE.partition("## What Hetzner's refusals mean")[2].partition("\n##")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))
    told = {code: error for error, codes in rows.items() for code in re.findall(r"`([a-z_]+)`", codes)}
    assert told == {code: type(error_from("", ApiRefused(code, "", writes=True))).__name__ for code in MEANINGS}
