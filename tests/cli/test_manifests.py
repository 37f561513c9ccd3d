"""``growth manifests``: one stream, whose documents fit together and say what holds here."""

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from growth import __version__
from growth.api.core import Lease
from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.offering import POOL
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.settings.loading import read_settings
from growth.cli.main import main
from growth.cli.manifests import DEFAULT_IMAGE, render
from growth.cli.manifests_deployment import CHECKSUM, GRACE_SECONDS
from growth.cloud.plugins import installed_providers
from growth.kube.lease_record import LeaseTerms, free_at, seen
from growth.run.shipped_manifests import shipped_policies, shipped_roles
from growth.run.signals import STOP_SECONDS
from tests.repository import ROOT

CATALOGUE = "{provider: kwok, extends: kwok, bootDelay: 1s}\n"

HETZNER = "{hetzner: {clusterName: shop}, providers: {enabled: hetzner}}"

Json = dict[str, Any]
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same in C, if it is there: this page parses megabytes."""


def printed(settings: str = "", image: str = DEFAULT_IMAGE) -> list[Json]:
    return list(yaml.load_all(_rendered(settings, image), _LOADER))


@cache
def _rendered(settings: str, image: str) -> str:
    return render(read_settings(settings), image)


def one(documents: list[Json], kind: str) -> Json:
    (found,) = (document for document in documents if document["kind"] == kind)
    return found


def pod_of(documents: list[Json]) -> Json:
    return one(documents, "Deployment")["spec"]["template"]["spec"]


def settings_in(documents: list[Json]) -> str:
    return one(documents, "ConfigMap")["data"]["growth.yaml"]


def manifests(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["manifests", *arguments], env=environment)


def test_each_document_comes_after_those_that_it_needs() -> None:
    kinds = list(dict.fromkeys(document["kind"] for document in printed("providers: {enabled: kwok}")))
    assert kinds == [
        "Namespace",
        "ResourceQuota",
        "CustomResourceDefinition",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Lease",
        "ConfigMap",
        "PodDisruptionBudget",
        "Deployment",
    ]


def test_no_document_is_there_twice() -> None:
    documents = printed("providers: {enabled: kwok}")
    names = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in documents]
    assert len(set(names)) == len(names)


def test_the_kinds_are_those_of_growth_crds() -> None:
    assert [each for each in printed() if each["kind"] == "CustomResourceDefinition"] == definitions()


def test_the_rights_of_a_provider_are_granted_only_where_it_is_enabled() -> None:
    def roles(documents: list[Json]) -> list[Json]:
        return [each for each in documents if each["apiVersion"].startswith("rbac.")]

    def shipped(*names: str) -> list[Json]:
        return [role for role in roles(shipped_roles()) if role["metadata"]["name"] in names]

    assert roles(printed()) == shipped("growth")
    assert roles(printed("providers: {enabled: kwok}")) == shipped("growth", "growth-kwok")
    assert roles(printed(HETZNER)) == shipped("growth", "growth-hetzner")


def test_the_secret_that_holds_the_token_may_be_read_and_no_other_than_those_that_are_named() -> None:
    def readable(settings: str) -> list[str]:
        rules = [
            rule for each in printed(settings) for rule in each.get("rules", ()) if rule["resources"] == ["secrets"]
        ]
        (rule,) = (rule for rule in rules if "get" in rule["verbs"])
        return rule["resourceNames"]

    assert readable(HETZNER) == ["growth-hetzner", "growth-user-data"]
    token = "hetzner: {clusterName: shop, tokenSecret: %s}, providers: {enabled: hetzner}"
    assert readable(f"{{{token % 'growth-hetzner'}}}") == ["growth-hetzner", "growth-user-data"]
    assert readable(f"{{{token % 'mine'}}}") == ["growth-hetzner", "growth-user-data", "mine"]


def test_join_tokens_are_made_in_kube_system_wherever_growth_is() -> None:
    documents = printed("{namespace: autoscaler, providers: {enabled: hetzner}, hetzner: {clusterName: shop}}")
    roles = [each for each in documents if each["metadata"]["name"] == "growth-hetzner"]
    assert [each["metadata"]["namespace"] for each in roles] == ["autoscaler"] * 2 + ["kube-system"] * 2
    assert {subject["namespace"] for each in roles for subject in each.get("subjects", [])} == {"autoscaler"}


def test_every_shipped_role_is_everybodys_or_belongs_to_a_provider() -> None:
    names = {role["metadata"]["name"] for role in shipped_roles() if role["kind"] != "Namespace"}
    assert names <= {"growth", "growth-queue", *(f"growth-{provider}" for provider in installed_providers())}


def test_the_queue_comes_with_its_kinds_rights_and_policy_and_only_where_it_is_enabled() -> None:
    def of_kind(documents: list[Json], *kinds: str) -> list[Json]:
        return [each for each in documents if each["kind"] in kinds]

    policies = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    without, having = printed(), printed("queue: {enabled: true}")
    assert of_kind(having, "CustomResourceDefinition") == definitions((*OWN_KINDS, *QUEUE_KINDS))
    assert of_kind(without, *policies) == []
    assert of_kind(having, *policies) == shipped_policies()
    names = [each["metadata"]["name"] for each in having if each["apiVersion"].startswith("rbac.")]
    assert names.count("growth-queue") == 2
    assert "growth-queue" not in yaml.safe_dump_all(without)


def test_who_has_kueues_definitions_is_told_how_to_keep_them() -> None:
    assert "--field-manager=growth" in render(read_settings("queue: {enabled: true}"), DEFAULT_IMAGE)
    assert "--field-manager" not in render(read_settings(""), DEFAULT_IMAGE)


def test_the_policy_of_the_queue_spares_the_namespace_in_which_growth_is() -> None:
    documents = printed("{namespace: autoscaler, queue: {enabled: true}}")
    bindings = [each for each in documents if each["kind"] == "MutatingAdmissionPolicyBinding"]
    spared = [each["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"][0]["values"] for each in bindings]
    assert spared == [["kube-system", "autoscaler"]] * 2


def test_another_namespace_leaves_nothing_behind_in_the_old_one() -> None:
    documents = printed("{namespace: autoscaler, providers: {enabled: kwok}, queue: {enabled: true}}")
    others = [each for each in documents if each["kind"] != "CustomResourceDefinition"]
    named = [each["metadata"]["name"] for each in documents if each["kind"] == "Namespace"]
    assert named == ["autoscaler", "growth-memory", "growth-transactions"]
    assert "growth-system" not in yaml.safe_dump_all(others)
    elsewhere = {"kube-node-lease", "growth-memory", "growth-transactions"}
    assert {each["metadata"].get("namespace", "autoscaler") for each in others} == {"autoscaler", *elsewhere}
    assert {subject["namespace"] for each in others for subject in each.get("subjects", [])} == {"autoscaler"}


def test_memory_may_have_other_namespaces() -> None:
    documents = printed("{memory: {namespace: past, transactionNamespace: news}}")
    places = {each["metadata"].get("namespace") for each in documents if each["kind"] == "Role"}
    assert places == {"growth-system", "kube-node-lease", "past", "news"}
    assert {each["metadata"]["name"] for each in documents if each["kind"] == "Namespace"} >= {"past", "news"}
    assert "growth-memory" not in yaml.safe_dump_all(each for each in documents if each["kind"] != "Role")


def test_the_names_that_refer_to_each_other_agree() -> None:
    documents = printed("leaderElection: {leaseName: chief}")
    spec, pod = one(documents, "Deployment")["spec"], pod_of(documents)
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert one(documents, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert pod["serviceAccountName"] == one(documents, "ServiceAccount")["metadata"]["name"]
    assert pod["volumes"][0]["configMap"]["name"] == one(documents, "ConfigMap")["metadata"]["name"]
    assert one(documents, "Lease")["metadata"]["name"] == "chief"
    scope = one(documents, "ResourceQuota")["spec"]["scopeSelector"]["matchExpressions"][0]
    assert scope["values"] == [pod["priorityClassName"]]


def test_the_pod_reads_the_file_that_is_mounted_and_is_asked_at_its_port() -> None:
    documents = printed("health: {port: 9090}")
    (container,) = pod_of(documents)["containers"]
    folder, _, file = container["command"][-1].rpartition("/")
    assert container["command"][:-1] == ["growth", "run", "--settings"]
    assert folder == container["volumeMounts"][0]["mountPath"]
    assert file in one(documents, "ConfigMap")["data"]
    assert container["ports"] == [{"name": "health", "containerPort": 9090}]
    asked = {probe: container[probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe")}
    assert asked == {
        "livenessProbe": {"path": "/healthz", "port": "health"},
        "readinessProbe": {"path": "/readyz", "port": "health"},
    }


def test_the_pod_has_longer_to_end_than_the_process_takes() -> None:
    assert pod_of(printed())["terminationGracePeriodSeconds"] == GRACE_SECONDS > STOP_SECONDS


def test_what_holds_here_holds_there() -> None:
    text = "{namespace: other, leaderElection: {leaseDuration: 1h30m}, health: {port: 81}, providers: {enabled: kwok}}"
    assert read_settings(settings_in(printed(text))).settings == read_settings(text).settings


def test_only_what_differs_from_the_defaults_is_written_down() -> None:
    told = yaml.safe_load(settings_in(printed("{namespace: growth-system, leaderElection: {retryPeriod: 3s}}")))
    assert told == {"leaderElection": {"retryPeriod": "3s"}}
    assert read_settings(settings_in(printed())).settings == read_settings().settings


def test_how_this_machine_reaches_the_cluster_stays_here() -> None:
    told = settings_in(printed("kube: {kubeconfig: mine.yaml, context: home, maxConcurrentRequests: 7}"))
    assert yaml.safe_load(told) == {"kube": {"maxConcurrentRequests": 7}}


def test_a_catalogue_goes_with_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(CATALOGUE)
    documents = printed(f"{{providers: {{enabled: kwok}}, kwok: {{catalogue: {file}}}}}")
    folder = pod_of(documents)["containers"][0]["volumeMounts"][0]["mountPath"]
    inside, _, name = read_settings(settings_in(documents)).settings.kwok.catalogue.rpartition("/")
    assert inside == folder
    assert one(documents, "ConfigMap")["data"][name] == CATALOGUE


def test_other_settings_make_other_pods_and_the_same_make_the_same() -> None:
    def checksum(settings: str) -> str:
        return one(printed(settings), "Deployment")["spec"]["template"]["metadata"]["annotations"][CHECKSUM]

    assert checksum("health: {port: 8080}") == checksum("")
    assert checksum("providers: {enabled: kwok}") != checksum("")


def test_the_lease_is_one_that_everybody_may_take_at_once() -> None:
    lease = msgspec.convert(one(printed(), "Lease"), Lease, strict=False)
    assert free_at(seen(None, lease, 100.0), "me", LeaseTerms()) < 100.0


def test_nothing_about_the_place_is_required_that_a_cluster_of_one_node_lacks() -> None:
    pod = pod_of(printed())
    ((how, terms),) = pod["affinity"]["podAntiAffinity"].items()
    assert how == "preferredDuringSchedulingIgnoredDuringExecution"
    keys = [term["podAffinityTerm"]["topologyKey"] for term in terms]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert {"matchExpressions": [{"key": POOL, "operator": "DoesNotExist"}]} in required["nodeSelectorTerms"]


def test_the_image_is_the_one_that_was_asked_for() -> None:
    result = manifests("--image", "registry.example.com:5000/tools/growth:1.0@sha256:" + "0" * 64)
    assert pod_of(list(yaml.safe_load_all(result.output)))["containers"][0]["image"].startswith("registry.example.com")
    assert f"growth:{__version__}" == DEFAULT_IMAGE


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--image", ""), "--image '' is no image: expected a name such as registry.example.com/growth:"),
        (("--image", "Growth one"), "--image 'Growth one' is no image: expected a name such as"),
        (("--health-port", "0"), "health.port: 0 is not possible in a pod: expected a fixed port"),
        (("--health-address", "127.0.0.1"), "health.address: '127.0.0.1' is not possible in a pod: expected nothing,"),
        (("--health-address", "localhost"), "health.address: 'localhost' is not possible in a pod: expected nothing,"),
        (("--kwok-catalogue", "none.yaml"), "kwok.catalogue: the catalogue none.yaml cannot be read: No such file"),
    ],
    ids=["no image", "two words", "any port", "loopback", "a name", "no catalogue"],
)
def test_what_could_never_run_in_a_pod_is_refused(arguments: tuple[str, ...], sentence: str) -> None:
    result = manifests(*arguments)
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_the_command_takes_file_variables_and_flags(tmp_path: Path) -> None:
    file = tmp_path / "growth.yaml"
    file.write_text("{namespace: from-file, health: {port: 9090}}")
    result = manifests("--settings", str(file), "--namespace", "from-flag", GROWTH_LEADER_ELECTION_RETRY_PERIOD="3s")
    assert result.exit_code == 0
    assert yaml.safe_load(settings_in(list(yaml.safe_load_all(result.output)))) == {
        "namespace": "from-flag",
        "leaderElection": {"retryPeriod": "3s"},
        "health": {"port": 9090},
    }


def test_the_image_is_made_of_files_that_exist_and_runs_as_a_number_that_is_not_root() -> None:
    recipe = (ROOT / "Dockerfile").read_text()
    copied = [line.split()[1:-1] for line in recipe.splitlines() if re.match(r"COPY (?!--from)", line)]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    users = re.findall(r"^USER (\S+)$", recipe, re.MULTILINE)
    assert users == ["65532:65532"]
