"""3600 calls an hour: in a burst if one likes, and one comes back each second."""

from growth_lab.hetzner_sandbox.faults import RateLimit
from lab.tests.hetzner_sandbox.box import Box, code


def limits(box: Box) -> tuple[int, int]:
    headers = dict(box.ask("GET", "/locations").headers)
    assert headers["RateLimit-Limit"] == "3600"
    return int(headers["RateLimit-Remaining"]), int(headers["RateLimit-Reset"]) - int(box.now.timestamp())


def test_a_burst_of_3600_passes_and_the_next_one_does_not() -> None:
    box = Box()
    statuses = [box.ask("GET", "/locations/1").status for _ in range(3601)]
    assert statuses == [200] * 3600 + [429]
    box.pass_by(2)
    assert [box.ask("GET", "/locations/1").status for _ in range(3)] == [200, 200, 429]


def test_the_refusal_has_no_details_and_the_headers() -> None:
    box = Box()
    box.sandbox.order(RateLimit(left=0))
    answer = box.ask("GET", "/servers")
    assert code(answer) == (429, "rate_limit_exceeded")
    assert isinstance(answer.body, dict)
    assert answer.body["error"]["details"] is None
    assert dict(answer.headers)["RateLimit-Remaining"] == "0"


def test_the_headers_tell_what_is_left_and_when_all_of_it_is_back() -> None:
    box = Box()
    assert limits(box) == (3599, 1)
    assert limits(box) == (3598, 2)
    box.pass_by(10)
    assert limits(box) == (3599, 1)


def test_a_wrong_token_costs_nobody_anything() -> None:
    box = Box()
    for _ in range(10):
        box.ask("GET", "/servers", token="wrong")
    assert limits(box) == (3599, 1)


def test_a_clock_that_is_set_back_gives_nothing() -> None:
    box = Box()
    box.sandbox.order(RateLimit(left=0))
    box.pass_by(-100)
    assert box.ask("GET", "/locations").status == 429
