"""What Kueue itself leaves in a cluster: by these one knows whether it is alive, and what it did not take along.

| object | what it tells |
|---|---|
| Lease ``c1f6bfd2.kueue.x-k8s.io``, in any namespace | whoever leads renews it every few seconds |
| Deployment with its two labels | that it is meant to run |
| webhook configurations | what calls it on every write of a job, a pod or a queue; dead, they refuse all of them |
| finalizers | what waits for it to be let go |
"""

from typing import Final

from growth.api.core import Lease
from growth.api.kinds import Kind
from growth.api.meta import FrozenValue, ObjectMeta

LEASE_NAME: Final = "c1f6bfd2.kueue.x-k8s.io"
"""The same in every installation, whatever the namespace and the chart's release are called."""

DEPLOYMENT_LABELS: Final = "app.kubernetes.io/name=kueue,control-plane=controller-manager"
"""The first alone would find its dashboard, too."""

MUTATING_WEBHOOKS: Final = "kueue-mutating-webhook-configuration"
VALIDATING_WEBHOOKS: Final = "kueue-validating-webhook-configuration"

IN_USE: Final = "kueue.x-k8s.io/resource-in-use"
"""Finalizer of workloads, ClusterQueues and ResourceFlavors."""


class KueueLease(Lease, frozen=True):
    """Who leads, if Kueue runs."""


class DeploymentScale(FrozenValue, frozen=True):
    """How many pods there should be, or are."""

    replicas: int = 0


class KueueDeployment(FrozenValue, frozen=True):
    """Kueue's manager."""

    metadata: ObjectMeta
    spec: DeploymentScale = DeploymentScale()
    status: DeploymentScale = DeploymentScale()

    @property
    def is_running(self) -> bool:
        """Whether pods of it should be there, or are there still."""
        return self.spec.replicas > 0 or self.status.replicas > 0


class Webhook(FrozenValue, frozen=True):
    """One thing that is called."""

    name: str = ""
    failure_policy: str = "Fail"


class WebhookConfiguration(FrozenValue, frozen=True):
    """Who is called on writes."""

    metadata: ObjectMeta
    webhooks: tuple[Webhook, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether writes fail if nobody answers."""
        return any(one.failure_policy == "Fail" for one in self.webhooks)


class MutatingWebhooks(WebhookConfiguration, frozen=True):
    """Those that change what is written."""


class ValidatingWebhooks(WebhookConfiguration, frozen=True):
    """Those that refuse what is written."""


_ADMISSION: Final = "admissionregistration.k8s.io"
KUEUE_LEASES: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True, type=KueueLease)
KUEUE_DEPLOYMENTS: Final = Kind("apps", "v1", "deployments", "Deployment", namespaced=True, type=KueueDeployment)
KUEUE_MUTATING: Final = Kind(
    _ADMISSION,
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
    type=MutatingWebhooks,
)
KUEUE_VALIDATING: Final = Kind(
    _ADMISSION,
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
    type=ValidatingWebhooks,
)
KUEUES_OWN: Final = (KUEUE_LEASES, KUEUE_DEPLOYMENTS, KUEUE_MUTATING, KUEUE_VALIDATING)
