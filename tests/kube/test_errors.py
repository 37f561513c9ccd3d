"""Every refusal becomes the error that says what can be done about it."""

import json

import pytest

from growth.api.kinds import NODES, PODS
from growth.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    error_from,
    error_from_line,
)
from growth.kube.transport import Method, Request, Response
from growth.kube.verbs import Permission
from tests.builders import a_status
from tests.kube.scripted import no

GET_NODE = Request(Method.GET, NODES.path("n1"))
PATCH_STATUS = Request(Method.PATCH, NODES.path("n1", "", "status"))
CREATE_POD = Request(Method.POST, PODS.collection("shop"))


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        pytest.param(no(400, "BadRequest"), Invalid, id="a request that makes no sense is invalid"),
        pytest.param(no(401, "Unauthorized"), Unauthorized, id="an unknown user is unauthorized"),
        pytest.param(no(403, "Forbidden"), Forbidden, id="a missing right is forbidden"),
        pytest.param(no(404, "NotFound"), NotFound, id="what is not there is not found"),
        pytest.param(no(405, "MethodNotAllowed"), ApiError, id="a status without a class of its own is still typed"),
        pytest.param(no(409, "Conflict"), Conflict, id="a failed precondition is a conflict"),
        pytest.param(no(409, "AlreadyExists"), AlreadyExists, id="a name that is taken is told from a conflict"),
        pytest.param(no(410, "Gone"), Gone, id="an old version is gone"),
        pytest.param(no(410, "Expired"), Gone, id="an expired page token is gone"),
        pytest.param(no(422, "Invalid"), Invalid, id="an object against the schema is invalid"),
        pytest.param(no(429, "TooManyRequests"), TooManyRequests, id="a full queue is too many requests"),
        pytest.param(no(500, "InternalError"), ServerTrouble, id="a failure is the server's trouble"),
        pytest.param(no(503, "ServiceUnavailable"), ServerTrouble, id="so is a server that is not ready"),
        pytest.param(no(504, "Timeout"), ServerTrouble, id="and one that ran out of time"),
        pytest.param(no(599, ""), ServerTrouble, id="and any 5xx that nobody has heard of"),
    ],
)
def test_a_refusal_is_typed(response: Response, kind: type[ApiError]) -> None:
    error = error_from(GET_NODE, response)
    assert type(error) is kind
    assert error.status == response.status


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        pytest.param(
            json.dumps(a_status(404, "NotFound", 'nodes "n1" not found')).encode(),
            'GET /api/v1/nodes/n1: nodes "n1" not found',
            id="the server's own message",
        ),
        pytest.param(
            json.dumps(a_status(404, "NotFound")).encode(), "GET /api/v1/nodes/n1: NotFound", id="or its reason"
        ),
        pytest.param(b"{}", "GET /api/v1/nodes/n1: HTTP 404", id="or the bare status"),
        pytest.param(
            b"404 page not found\n", "GET /api/v1/nodes/n1: 404 page not found", id="or the text of something else"
        ),
        pytest.param(
            b"", "GET /api/v1/nodes/n1: HTTP 404 without a message", id="or that there was nothing to read at all"
        ),
        pytest.param(b'{"message": "cut o', 'GET /api/v1/nodes/n1: {"message": "cut o', id="half a Status is text"),
        pytest.param(b'"\xff\xfe"', 'GET /api/v1/nodes/n1: "\ufffd\ufffd"', id="bytes that are no text do no harm"),
        pytest.param(b"<" * 5000, f"GET /api/v1/nodes/n1: {'<' * 200}", id="a proxy's page is cut to what fits a log"),
    ],
)
def test_the_message_says_what_was_asked_and_what_was_answered(body: bytes, sentence: str) -> None:
    assert str(error_from(GET_NODE, Response(404, body))) == sentence


@pytest.mark.parametrize(
    ("response", "seconds"),
    [
        pytest.param(no(429, headers={"retry-after": "7"}), 7.0, id="in the header"),
        pytest.param(no(429, retry_after=3), 3.0, id="in the body"),
        pytest.param(no(429, retry_after=3, headers={"retry-after": "7"}), 7.0, id="in both, and the header wins"),
        pytest.param(no(503, headers={"retry-after": "1"}), 1.0, id="by a server in trouble"),
        pytest.param(no(429), None, id="nowhere"),
        pytest.param(no(429, headers={"retry-after": "0"}), None, id="as zero, which is no delay"),
        pytest.param(
            no(429, headers={"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}),
            None,
            id="as a date, which we do not read",
        ),
        pytest.param(no(429, headers={"retry-after": "²"}), None, id="as a digit that is no number"),
    ],
)
def test_the_delay_that_was_asked_for_stands(response: Response, seconds: float | None) -> None:
    assert error_from(GET_NODE, response).retry_after == seconds


def test_forbidden_names_the_verb_that_the_role_lacks() -> None:
    message = (
        'nodes "n1" is forbidden: User "system:serviceaccount:growth:growth" cannot patch resource "nodes/status" '
        'in API group "" at the cluster scope'
    )
    error = error_from(PATCH_STATUS, no(403, "Forbidden", message))
    assert isinstance(error, Forbidden)
    assert error.permission == Permission("", "nodes/status", "patch")
    assert str(error) == (f"the role lacks the verb 'patch' on nodes/status (PATCH /api/v1/nodes/n1/status: {message})")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(
            'pods "p" is forbidden: unable to create new content in namespace shop because it is being terminated',
            id="of a namespace that goes",
        ),
        pytest.param('pods "p" is forbidden: exceeded quota: small, requested: pods=1', id="of a quota"),
        pytest.param('pods "p" is forbidden: violates PodSecurity "restricted:latest"', id="of admission"),
    ],
)
def test_a_403_that_no_role_could_mend_does_not_blame_the_role(message: str) -> None:
    error = error_from(CREATE_POD, no(403, "Forbidden", message))
    assert isinstance(error, Forbidden)
    assert error.permission is None
    assert str(error) == f"POST /api/v1/namespaces/shop/pods: {message}"


def test_forbidden_outside_the_resource_trees_names_no_verb() -> None:
    message = 'forbidden: User "system:anonymous" cannot get path "/version"'
    error = error_from(Request(Method.GET, "/version"), no(403, "Forbidden", message))
    assert isinstance(error, Forbidden)
    assert error.permission is None


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        pytest.param(410, "Expired", Gone, id="a version that is too old"),
        pytest.param(410, "Gone", Gone, id="the same in an older server's word"),
        pytest.param(504, "Timeout", ServerTrouble, id="a version that the server has not reached"),
        pytest.param(500, "InternalError", ServerTrouble, id="a failure in the middle"),
        pytest.param(0, "", ApiError, id="an error without a code"),
    ],
)
def test_a_line_of_a_watch_is_typed_as_an_answer_is(code: int, reason: str, kind: type[ApiError]) -> None:
    data = json.dumps(a_status(code, reason, "so it is", retry_after=2)).encode()
    error = error_from_line(data, "watch of pods")
    assert type(error) is kind
    assert (str(error), error.retry_after) == ("watch of pods: so it is", 2)
