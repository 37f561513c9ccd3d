"""What a server lacks: by what it serves, else by its release."""

import pytest

from growth.api.server_features import FEATURES, NEWEST, OLDEST, is_since, minor_of
from growth.decide.pipeline import CAPABILITIES
from growth.kube.client import Client
from growth.kube.transport import Request, Response
from growth.run.missing_features import is_tested, missing_features, sentence_about
from growth_lab.local_cluster.pinned_modules import RELEASES, version_from
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.scripted import Scripted, no, ok

ADMISSION = "/apis/admissionregistration.k8s.io/v1"


class Server:
    """Says what it serves, by path."""

    def __init__(self, served: dict[str, list[str]]) -> None:
        self._served = served
        self.asked: list[str] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request.path)
        if request.path not in self._served:
            return no(404, "NotFound")
        return ok({"kind": "APIResourceList", "resources": [{"name": one} for one in self._served[request.path]]})


class Sending(Scripted):
    """A sender in front of it."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.send = server.send


def missing(version: str, served: dict[str, list[str]], *capabilities: str) -> list[str]:
    found = run_virtually(missing_features(Client(Sending(Server(served))), version, capabilities))
    return [feature.name for feature in found]


def test_new_server_lacks_nothing() -> None:
    assert missing("v1.36.3", {ADMISSION: ["mutatingadmissionpolicies"]}, "grow", "queue") == []


def test_old_server_lacks_what_came_later() -> None:
    lacks = missing("v1.33.13", {ADMISSION: ["validatingadmissionpolicies"]}, "grow", "queue")
    nominations = "nominated nodes of pods that are being bound"
    assert lacks == ["streaming lists", nominations, "MutatingAdmissionPolicy v1"]


def test_what_is_served_counts_more_than_the_release() -> None:
    served = {ADMISSION: ["mutatingadmissionpolicies"]}
    assert missing("v1.35.8", served, "queue") == []
    assert missing("v1.36.3", {}, "queue") == ["MutatingAdmissionPolicy v1"]


def test_features_of_disabled_capabilities_are_not_missed() -> None:
    assert missing("v1.35.8", {}, "grow", "memory") == []
    assert missing("v1.34.10", {}, "memory") == []


def test_server_of_unknown_release_is_believed_to_have_what_nothing_is_served_for() -> None:
    assert missing("unknown", {ADMISSION: ["mutatingadmissionpolicies"]}, "queue") == []
    assert not is_tested("unknown")


def test_line_names_feature_release_capability_and_consequence() -> None:
    (policy,) = (one for one in FEATURES if one.name.startswith("MutatingAdmissionPolicy"))
    line = sentence_about(policy)
    assert line.startswith("this server has no MutatingAdmissionPolicy v1 (Kubernetes 1.36); queue: a Job ")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("version", "minor"), [("v1.36.3", "1.36"), ("v1.33.13+k3s1", "1.33"), ("1.34", "1.34"), ("devel", "")]
)
def test_minor_release_is_read_from_what_servers_call_themselves(version: str, minor: str) -> None:
    assert minor_of(version) == minor


def test_releases_compare_by_number() -> None:
    assert is_since("1.100", "1.36")
    assert not is_since("1.4", "1.36")


def test_pinned_releases_are_the_tested_ones() -> None:
    assert (RELEASES[0].minor, RELEASES[-1].minor) == (OLDEST, NEWEST)
    assert [is_tested(f"v{one}.0") for one in ("1.32", "1.33", "1.37", "1.38")] == [False, True, True, False]


def test_features_name_capabilities_that_exist_and_releases_after_the_oldest() -> None:
    known = {capability.name for capability in CAPABILITIES}
    assert {name for one in FEATURES for name in one.capabilities} <= known
    assert all(version_from(one.since) > version_from(OLDEST) for one in FEATURES)
