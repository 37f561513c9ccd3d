"""Admission policies of the API server: by them who names a queue is held back from the first instant."""

from typing import Final

from growth.api.kinds import Kind
from growth.api.meta import ObjectMeta
from growth.api.slim import Slim


class AdmissionObject(Slim, frozen=True):
    """A policy or its binding. Nothing in it is decided on: it is put there and taken away."""

    metadata: ObjectMeta


_GROUP: Final = "admissionregistration.k8s.io"
POLICIES: Final = Kind(
    _GROUP, "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", namespaced=False, type=AdmissionObject
)
POLICY_BINDINGS: Final = Kind(
    _GROUP,
    "v1",
    "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicyBinding",
    namespaced=False,
    type=AdmissionObject,
)
