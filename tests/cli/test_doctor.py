"""``growth doctor``: what it asks, what it concludes, how it looks and with which exit code it ends."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.kinds import Kind
from growth.api.settings.model import ProvidersSettings, QueueSettings, Settings
from growth.cli.doctor_definitions import first_difference
from growth.cli.doctor_reader import read_report
from growth.cli.doctor_report import DoctorReport, KindState
from growth.cli.doctor_view import view
from growth.cli.main import main
from growth.decide.pipeline import CAPABILITIES, chosen
from growth.kube.client import Client
from growth.kube.errors import Unauthorized
from growth.kube.transport import Request, Response
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence
from tests.kube.scripted import Scripted, no, ok

Json = dict[str, Any]
QUEUE = Settings(queue=QueueSettings(enabled=True))
KWOK = Settings(providers=ProvidersSettings(enabled="kwok"))
REGISTRY_AND_GROW = chosen(["grow"])
POLICIES = ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies")


class Server(Scripted):
    """A server that has all that Growth needs; a test takes something away."""

    def __init__(self, version: str = "v1.36.3") -> None:
        super().__init__()
        self.version = version
        self.served = {(one.api_version, one.plural) for one in _all_kinds()} | {POLICIES}
        self.definitions = {one["metadata"]["name"]: one for one in definitions(OWN_KINDS)}
        self.refused: set[tuple[str, str]] = set()
        """Verbs and resources that the user may not use."""

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        path, body = request.path, json.loads(request.body or b"{}")
        if path == "/version":
            return ok({"gitVersion": self.version})
        if path.endswith("selfsubjectreviews"):
            return ok({"status": {"userInfo": {"username": "anna"}}})
        if path.endswith("selfsubjectaccessreviews"):
            wanted = body["spec"]["resourceAttributes"]
            resource = "/".join(filter(None, (wanted["resource"], wanted["subresource"])))
            return ok({"status": {"allowed": (wanted["verb"], resource) not in self.refused}})
        if "customresourcedefinitions/" in path:
            return self._definition(path.rpartition("/")[2])
        return self._resources(path)

    def _definition(self, name: str) -> Response:
        if ("get", "customresourcedefinitions") in self.refused:
            return no(403, "Forbidden", 'User "anna" cannot get resource "customresourcedefinitions"')
        return ok(self.definitions[name])

    def _resources(self, path: str) -> Response:
        root = path.removeprefix("/apis/").removeprefix("/api/")
        found = [{"name": plural} for group_version, plural in self.served if group_version == root]
        return ok({"resources": found}) if found else no(404, "NotFound")


def _all_kinds() -> set[Kind[Any]]:
    return {kind for capability in CAPABILITIES for kind in capability.watches}


def report_of(server: Server, settings: Settings = QUEUE, *, only: str = "") -> DoctorReport:
    capabilities = [one for one in chosen([only] if only else []) if one.is_enabled(settings)]
    return run_virtually(read_report(Client(server), "https://there", settings, capabilities))


def shown(report: DoctorReport) -> str:
    console = Console(file=io.StringIO(), width=200, highlight=False)
    with console.capture() as captured:
        console.print(view(report))
    return captured.get()


def test_server_with_everything_is_complete() -> None:
    report = report_of(Server())
    assert (report.exit_code, report.missing_features, report.unusable_kinds) == (0, (), ())
    assert (report.version, report.user, report.is_tested) == ("v1.36.3", "anna", True)
    assert {one.state for one in report.kinds} == {KindState.SAME}
    text = shown(report)
    assert text.startswith(" COMPLETE  nothing stops an enabled capability\n")
    assert f"{report.permissions} of {report.permissions} permissions are granted" in text
    assert "Next" not in text


def test_nothing_is_written() -> None:
    server = Server()
    report_of(server)
    written = {request.path for request in server.requests if request.writes}
    assert {path.rpartition("/")[2] for path in written} == {"selfsubjectreviews", "selfsubjectaccessreviews"}


def test_missing_feature_is_shown_and_stops_nothing() -> None:
    server = Server("v1.35.8")
    server.served.remove(POLICIES)
    report = report_of(server)
    assert report.exit_code == 0
    (policy,) = report.missing_features
    assert (policy.since, policy.capabilities) == ("1.36", ("queue",))
    assert f"{policy.name}  1.36   queue  {policy.without[:40]}" in shown(report)


def test_missing_definitions_stop_those_who_need_them() -> None:
    server = Server()
    server.served = {one for one in server.served if "growth.dev" not in one[0]}
    report = report_of(server, Settings())
    assert report.exit_code == 1
    assert {one.kind for one in report.unusable_kinds} == {own.kind.name for own in OWN_KINDS}
    assert "memory" not in report.stopped
    text = shown(report)
    assert text.startswith(" INCOMPLETE  without what follows these do not work: registry, pools, failover, ")
    assert "growth crds | kubectl apply --server-side -f -" in text


def test_definition_of_another_version_names_the_first_difference() -> None:
    server = Server()
    spec = server.definitions["nodemoves.growth.dev"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del spec["properties"]["spec"]["properties"]["nodes"]
    report = report_of(server)
    (found,) = report.unusable_kinds
    assert (found.kind, found.state, found.capabilities) == ("NodeMove", KindState.DIFFERENT, ("consolidate",))
    assert found.detail == "schema.properties.spec.properties.nodes is missing"
    assert "is of another version of Growth: schema.properties.spec.properties.nodes" in shown(report)


def test_definitions_that_may_not_be_read_are_not_compared() -> None:
    server = Server()
    server.refused.add(("get", "customresourcedefinitions"))
    report = report_of(server)
    assert report.exit_code == 0
    assert {one.kind for one in report.kinds if one.state is KindState.UNKNOWN} == {own.kind.name for own in OWN_KINDS}
    assert "Not compared, since you may not get customresourcedefinitions: NodePool, " in shown(report)


def test_missing_kinds_of_the_queue_stop_the_queue_alone() -> None:
    server = Server()
    server.served = {one for one in server.served if "kueue" not in one[0]}
    assert report_of(server, Settings()).exit_code == 0
    report = report_of(server)
    assert (report.exit_code, report.stopped) == (1, ("queue",))
    assert "growth crds --queue | kubectl create -f -" in shown(report)


def test_missing_permission_names_who_needs_it() -> None:
    server = Server()
    server.refused.add(("create", "pods/eviction"))
    report = report_of(server)
    (found,) = report.missing_permissions
    assert (found.permission, found.needed_by) == ("create pods/eviction", ("consolidate", "shrink"))
    assert report.stopped == ("consolidate", "shrink")
    assert "growth manifests | kubectl apply --server-side -f -" in shown(report)


def test_permissions_of_disabled_capabilities_and_providers_are_not_asked_for() -> None:
    server = Server()
    server.refused.update({("create", "pods/eviction"), ("create", "nodes"), ("patch", "jobs")})
    assert report_of(server, KWOK, only="memory").exit_code == 0
    assert report_of(server, KWOK, only="grow").stopped == ("provider kwok",)
    assert report_of(server, Settings(), only="grow").exit_code == 0


@pytest.mark.parametrize(("version", "is_tested"), [("v1.32.2", False), ("v1.33.0", True), ("v1.99.0", False)])
def test_untested_release_is_said_so(version: str, *, is_tested: bool) -> None:
    text = shown(report_of(Server(version)))
    assert ("Growth is tested on Kubernetes 1.33 to 1.37, and not on this release." in text) is not is_tested


def test_refused_user_is_an_error_and_not_a_report() -> None:
    class Locked(Server):
        async def send(self, request: Request) -> Response:  # noqa: ARG002 - every request is refused
            return no(401, "Unauthorized", "Unauthorized")

    with pytest.raises(Unauthorized):
        report_of(Locked())


def test_words_for_people_may_differ() -> None:
    (ours, *_), (theirs, *_) = definitions(OWN_KINDS), definitions(OWN_KINDS)
    theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "other words"
    theirs["spec"]["names"]["shortNames"] = []
    theirs["spec"]["conversion"] = {"strategy": "None"}
    assert first_difference(ours, theirs) == ""


def test_bounds_rules_and_versions_may_not_differ() -> None:
    (ours, *_) = definitions(OWN_KINDS)

    def changed(change: str) -> str:
        (theirs, *_) = definitions(OWN_KINDS)
        version = theirs["spec"]["versions"][0]
        fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        match change:
            case "bound":
                fields["priority"]["maximum"] = 5
            case "field":
                fields["added"] = {"type": "string"}
            case "rules":
                fields["limits"]["properties"]["nodes"]["x-kubernetes-validations"][0]["rule"] = "self >= 1"
            case "status":
                del version["subresources"]
            case _:
                version["served"] = False
        return first_difference(ours, theirs)

    path = "schema.properties.spec.properties"
    assert changed("bound") == f"{path}.priority.maximum is 5, expected 1000"
    assert changed("field") == f"{path}.added is unknown to this version"
    assert changed("rules").startswith(
        f"{path}.limits.properties.nodes.x-kubernetes-validations[0].rule is 'self >= 1'"
    )
    assert changed("status") == "subresources.status is missing"
    assert changed("version") == "version v1alpha1 is not served"


def test_unknown_capability_is_bad_input() -> None:
    result = CliRunner().invoke(main, ["doctor", "--only", "grwo"])
    assert is_one_sentence(result, "--only grwo", "the closest is 'grow'")


def test_server_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    kubeconfig = a_kubeconfig(tmp_path, free_port())
    result = CliRunner().invoke(main, ["doctor", "--kubeconfig", kubeconfig])
    assert is_one_sentence(result, "127.0.0.1")
