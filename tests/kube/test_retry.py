"""Asking again, only where that is safe: on virtual time, against a scripted server."""

import pytest

from growth.api.kinds import NODES, PODS
from growth.kube.errors import (
    ApiError,
    Conflict,
    Fenced,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from growth.kube.retry import ATTEMPTS, Backoff, may_repeat, send_once, send_with_retries
from growth.kube.transport import Method, Request, Response
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.scripted import Answer, Scripted, dice, no, ok

READ = Request(Method.GET, NODES.path("n"))
WRITES = [
    Request(Method.POST, PODS.collection("a"), body=b"{}"),
    Request(Method.PATCH, NODES.path("n"), body=b"{}"),
    Request(Method.PUT, NODES.path("n"), body=b"{}"),
    Request(Method.DELETE, NODES.path("n"), body=b"{}"),
]
DONE = ok({"done": True})
NEVER_SENT = Unreachable("refused", sent=False)
PERHAPS_SENT = Unreachable("reset", sent=True)


def ask(send: Scripted, request: Request) -> Response | KubeError:
    """The answer or the error in which the attempts end."""

    async def asking() -> Response | KubeError:
        try:
            return await send_with_retries(send, request, dice(7))
        except KubeError as error:
            return error

    return run_virtually(asking())


REPEATED = [
    pytest.param(no(429), id="a full queue"),
    pytest.param(NEVER_SENT, id="a server that was never reached"),
]
REPEATED_READS = [
    pytest.param(no(500), id="a failure"),
    pytest.param(no(503), id="a server that is not ready"),
    pytest.param(no(504), id="a server that ran out of time"),
    pytest.param(PERHAPS_SENT, id="a broken connection"),
]
FINAL = [
    pytest.param(no(400), Invalid, id="an invalid request"),
    pytest.param(no(401), Unauthorized, id="an unknown user"),
    pytest.param(no(403), Forbidden, id="a missing right"),
    pytest.param(no(404), NotFound, id="a missing object"),
    pytest.param(no(409), Conflict, id="a failed precondition"),
    pytest.param(no(410), Gone, id="a version that is gone"),
    pytest.param(Fenced("the lease ran out"), Fenced, id="a lost lease"),
    pytest.param(Untrusted("wrong CA", sent=False), Untrusted, id="a server that cannot be trusted"),
]


@pytest.mark.parametrize("trouble", [*REPEATED, *REPEATED_READS])
def test_a_read_is_repeated_after(trouble: Answer) -> None:
    send = Scripted(trouble, trouble, DONE)
    assert ask(send, READ) == DONE
    assert send.requests == [READ] * 3


@pytest.mark.parametrize("request_", WRITES, ids=lambda request: request.method)
@pytest.mark.parametrize("trouble", REPEATED)
def test_a_write_is_repeated_after(trouble: Answer, request_: Request) -> None:
    send = Scripted(trouble, trouble, DONE)
    assert ask(send, request_) == DONE
    assert send.requests == [request_] * 3


@pytest.mark.parametrize("request_", WRITES, ids=lambda request: request.method)
@pytest.mark.parametrize("trouble", REPEATED_READS)
def test_a_write_that_may_have_happened_is_never_repeated_after(trouble: Answer, request_: Request) -> None:
    send = Scripted(trouble, DONE)
    assert isinstance(ask(send, request_), ServerTrouble | Unreachable)
    assert len(send.requests) == 1


@pytest.mark.parametrize("request_", [READ, *WRITES], ids=lambda request: request.method)
@pytest.mark.parametrize(("trouble", "kind"), FINAL)
def test_nothing_is_repeated_after(trouble: Answer, kind: type[KubeError], request_: Request) -> None:
    send = Scripted(trouble, DONE)
    assert type(ask(send, request_)) is kind
    assert len(send.requests) == 1


def test_a_write_that_was_first_refused_and_then_lost_is_not_repeated() -> None:
    send = Scripted(NEVER_SENT, no(429), PERHAPS_SENT, DONE)
    assert ask(send, WRITES[0]) is PERHAPS_SENT
    assert len(send.requests) == 3


def test_the_last_error_is_told_when_all_attempts_are_used() -> None:
    send = Scripted(*[no(503)] * (ATTEMPTS - 1), no(500, "InternalError", "etcd is gone"))
    error = ask(send, READ)
    assert isinstance(error, ServerTrouble)
    assert error.status == 500
    assert len(send.requests) == ATTEMPTS


def test_the_delays_double_with_jitter() -> None:
    send = Scripted(*[no(503)] * ATTEMPTS)
    ask(send, READ)
    waited = [after - before for before, after in zip(send.times, send.times[1:], strict=False)]
    for delay, longest in zip(waited, (0.1, 0.2, 0.4, 0.8), strict=True):
        assert longest / 2 <= delay <= longest


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(no(429, headers={"retry-after": "17"}), id="by a full queue in the header"),
        pytest.param(no(429, retry_after=17), id="by a full queue in the body"),
        pytest.param(no(503, headers={"retry-after": "17"}), id="by a server that is not ready"),
    ],
)
def test_the_delay_is_honoured_that_was_asked_for(answer: Response) -> None:
    send = Scripted(answer, DONE)
    assert ask(send, READ) == DONE
    assert 17 <= send.times[1] - send.times[0] <= 17.1


def test_asking_once_means_once() -> None:
    async def asking() -> None:
        await send_once(send, READ)

    send = Scripted(no(429, retry_after=9), DONE)
    with pytest.raises(TooManyRequests) as raised:
        run_virtually(asking())
    assert raised.value.retry_after == 9
    assert len(send.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 304, 307, 308])
def test_being_sent_elsewhere_is_no_success(status: int) -> None:
    error = ask(Scripted(Response(status, b"", {"location": "https://elsewhere.example.org/"})), READ)
    assert type(error) is ApiError
    assert error.status == status


def test_an_error_that_nobody_knows_is_not_repeated() -> None:
    assert not may_repeat(READ, KubeError("?"))


def test_a_backoff_stays_under_its_cap_however_often_it_fails() -> None:
    backoff = Backoff(0.2, 30, dice(1))
    delays = [backoff.failed() for _ in range(5_000)]
    assert max(delays) <= 30
    assert min(delays[20:]) >= 15


def test_a_backoff_starts_over_after_a_success() -> None:
    backoff = Backoff(0.2, 30, dice(1))
    for _ in range(10):
        backoff.failed()
    backoff.succeeded()
    assert backoff.failed() <= 0.2


def test_replicas_do_not_march_in_step() -> None:
    one, other = (Backoff(1, 30, dice(seed)) for seed in (1, 2))
    assert [one.failed() for _ in range(4)] != [other.failed() for _ in range(4)]
