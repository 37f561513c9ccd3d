"""What is asked for a permission, and what is made of the answer."""

import pytest

from growth.kube.client import Client
from growth.kube.permission_review import ScopedPermission, current_user, is_allowed
from growth.kube.verbs import Permission
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.scripted import Scripted, ok


@pytest.mark.parametrize("allowed", [True, False])
def test_review_asks_for_one_verb_and_answers_as_the_server_does(allowed: bool) -> None:  # noqa: FBT001
    send = Scripted(ok({"status": {"allowed": allowed}}))
    wanted = ScopedPermission(Permission("growth.dev", "nodepools/status", "patch"), "", "web")
    assert run_virtually(is_allowed(Client(send), wanted)) is allowed
    (request,) = send.requests
    assert request.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert send.bodies == [
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {
                "resourceAttributes": {
                    "group": "growth.dev",
                    "resource": "nodepools",
                    "subresource": "status",
                    "verb": "patch",
                    "namespace": "",
                    "name": "web",
                }
            },
        }
    ]


def test_answer_without_a_verdict_is_a_refusal() -> None:
    wanted = ScopedPermission(Permission("", "nodes", "list"))
    assert run_virtually(is_allowed(Client(Scripted(ok({"status": {}}))), wanted)) is False


def test_current_user_is_named_by_the_server() -> None:
    send = Scripted(ok({"status": {"userInfo": {"username": "anna", "groups": ["staff"]}}}))
    assert run_virtually(current_user(Client(send))) == "anna"


@pytest.mark.parametrize(
    ("namespace", "name", "text"),
    [
        ("", "", "patch nodepools/status.growth.dev"),
        ("here", "", "patch nodepools/status.growth.dev in here"),
        ("here", "one", "patch nodepools/status.growth.dev one in here"),
    ],
)
def test_permission_says_where_and_for_what(namespace: str, name: str, text: str) -> None:
    assert str(ScopedPermission(Permission("growth.dev", "nodepools/status", "patch"), namespace, name)) == text
