"""Everything that a cluster needs to run Growth, as plain documents in the order in which they can be applied."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import yaml

from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.kinds import LEASES
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.settings.fields import plain
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli.manifests_deployment import LABELS, NAME, PRIORITY_CLASS, deployment

Document = dict[str, Any]

CHART_NAMESPACE: Final = "growth-system"
"""The namespace that stands in the chart's files."""
SETTINGS_FOLDER: Final = "/etc/growth"
SETTINGS_KEY: Final = "growth.yaml"
CATALOGUE_KEY: Final = "kwok-catalogue.yaml"
SETTINGS_NAME: Final = f"{NAME}-settings"

_OF_THIS_MACHINE: Final = ("kube.kubeconfig", "kube.context")
"""How the one who prints reaches a cluster. A pod has its service account."""
_CATALOGUE: Final = "kwok.catalogue"


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What to install. ``roles`` are the documents of charts/growth/rbac.yaml, ``policies`` those of queue-policy.yaml
    beside it. ``catalogue`` is the content of the file that ``kwok.catalogue`` names: a pod cannot read it where it
    lies.
    """

    effective: EffectiveSettings
    image: str
    roles: Sequence[Document]
    policies: Sequence[Document]
    catalogue: str = ""
    plugin_roles: Sequence[Document] = ()
    """Roles of capabilities from other packages."""

    @property
    def settings(self) -> Settings:
        """The settings as a class."""
        return self.effective.settings


def documents(installation: Installation) -> list[Document]:
    """The namespace first, the Deployment last; each document needs only those before it."""
    settings = installation.settings
    queue = settings.queue.enabled
    policies = [_sparing(policy, settings.namespace) for policy in installation.policies] if queue else []
    roles = roles_for(settings, installation.roles)
    files = _files(installation)
    checksum = hashlib.sha256(msgspec.json.encode(sorted(files.items()))).hexdigest()[:16]
    return [
        *(role for role in roles if role["kind"] == "Namespace"),
        _quota(settings),
        *definitions((*OWN_KINDS, *QUEUE_KINDS) if queue else OWN_KINDS),
        *(role for role in roles if role["kind"] != "Namespace"),
        *(_moved(role, _places(settings)) for role in installation.plugin_roles),
        *policies,
        _lease(settings),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(SETTINGS_NAME, settings), "data": files},
        _disruption_budget(settings),
        deployment(
            metadata=_metadata(NAME, settings),
            image=installation.image,
            port=settings.health.port,
            settings_name=SETTINGS_NAME,
            settings_folder=SETTINGS_FOLDER,
            settings_file=f"{SETTINGS_FOLDER}/{SETTINGS_KEY}",
            settings_checksum=checksum,
        ),
    ]


def roles_for(settings: Settings, roles: Sequence[Document]) -> list[Document]:
    """Of the shipped roles those that these settings need, in the namespaces that they name."""
    wanted = _wanted(roles, [*settings.providers.names, *(["queue"] if settings.queue.enabled else [])])
    return [_moved(_reading(role, settings.hetzner.token_secret), _places(settings)) for role in wanted]


def _wanted(roles: Sequence[Document], used: Sequence[str]) -> Iterator[Document]:
    """A role called ``growth-NAME`` is for that provider alone, or for the queue; who does not use it does not need its
    rights."""
    for role in roles:
        name = role["metadata"]["name"].removeprefix(f"{NAME}-")
        if role["kind"] == "Namespace" or name == NAME or name in used:
            yield role


def _sparing(policy: Document, namespace: str) -> Document:
    """The same policy, which leaves Growth's namespace alone, whatever it is called."""
    selector = policy["spec"].get("matchResources", {}).get("namespaceSelector")
    if selector is None:
        return policy
    expressions = [
        one | {"values": [namespace if value == CHART_NAMESPACE else value for value in one["values"]]}
        for one in selector["matchExpressions"]
    ]
    return policy | {
        "spec": policy["spec"] | {"matchResources": {"namespaceSelector": {"matchExpressions": expressions}}}
    }


def _reading(role: Document, secret: str) -> Document:
    """The same role, which may read this Secret, too, if there are any that it may read: they are named one by one."""
    rules = [
        rule | {"resourceNames": [*dict.fromkeys((*rule["resourceNames"], secret))]}
        if secret and rule["resources"] == ["secrets"] and "resourceNames" in rule
        else rule
        for rule in role.get("rules", ())
    ]
    return role | {"rules": rules} if rules else role


def _places(settings: Settings) -> Mapping[str, str]:
    """The namespaces of the chart, and what they are called here."""
    defaults, memory = Settings(), settings.memory
    return {
        CHART_NAMESPACE: settings.namespace,
        defaults.memory.namespace: memory.namespace,
        defaults.memory.transaction_namespace: memory.transaction_namespace,
    }


def _moved(document: Document, places: Mapping[str, str]) -> Document:
    """The same in other namespaces: their own names, and every field that names one."""
    metadata = document["metadata"]
    if document["kind"] == "Namespace":
        namespace = places[metadata["name"]]
        # The label is on every namespace, anyway. A document without any field of its own is not recognised by the
        # server (1.36) when it is applied again, and written once more.
        labels = {"labels": {"kubernetes.io/metadata.name": namespace}}
        return document | {"metadata": metadata | {"name": namespace} | labels}
    moved = document | {"metadata": _moved_field(metadata, places)}
    if "subjects" in document:
        moved["subjects"] = [_moved_field(subject, places) for subject in document["subjects"]]
    return moved


def _moved_field(part: Document, places: Mapping[str, str]) -> Document:
    return part | {"namespace": places[part["namespace"]]} if part.get("namespace") in places else part


def _files(installation: Installation) -> dict[str, str]:
    """The settings file with what differs from the defaults, so that an upgrade brings its new ones."""
    said = {
        row.field.path: plain(row.value, row.field.nothing)
        for row in installation.effective.fields
        if row.value != row.field.default and row.field.path not in _OF_THIS_MACHINE
    }
    files: dict[str, str] = {}
    if installation.catalogue:
        said[_CATALOGUE] = f"{SETTINGS_FOLDER}/{CATALOGUE_KEY}"
        files[CATALOGUE_KEY] = installation.catalogue
    text = yaml.safe_dump(_nested(said), sort_keys=False) if said else "# Every setting has its default.\n"
    return {SETTINGS_KEY: text} | files


def _nested(values: Mapping[str, object]) -> Document:
    document: Document = {}
    for path, value in values.items():
        *sections, name = path.split(".")
        inner = document
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = value
    return document


def _quota(settings: Settings) -> Document:
    """Leave to use the priority class: some clusters (GKE's) grant it only where a quota names it. It limits nothing.

    It stands early in the list, because pods are refused until the controller has counted for it once.
    """
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": [PRIORITY_CLASS]}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": _metadata(NAME, settings),
        "spec": {"hard": {"pods": "1G"}, "scopeSelector": {"matchExpressions": [scope]}},
    }


def _lease(settings: Settings) -> Document:
    """A lease that nobody ever held may be taken at once; a missing one only after a full lease duration.

    To apply it again takes nothing from its holder: no field of the holder stands here.
    """
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.name,
        "metadata": _metadata(settings.leader_election.lease_name, settings),
        "spec": {},
    }


def _disruption_budget(settings: Settings) -> Document:
    """Drains take one replica at a time. One that is not ready leads nobody, and should not hold a drain up."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(NAME, settings),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": LABELS},
        },
    }


def _metadata(name: str, settings: Settings) -> Document:
    return {"name": name, "namespace": settings.namespace, "labels": LABELS}
