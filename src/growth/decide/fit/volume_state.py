"""The shelf: volumes and claims of a stage, which of them are in use, and what placing pods does to them."""

from collections.abc import Iterable, Mapping, Sequence

from growth.api.pod import Pod
from growth.api.storage import PersistentVolume
from growth.decide.fit.pod_counts import add
from growth.decide.fit.volume_binding import Binding
from growth.decide.fit.volume_claims import class_name
from growth.observe.table import Key

PodsByNode = Iterable[tuple[str, Mapping[str, Pod]]]


class VolumeState:
    """Made when the first pod with volumes is asked about or placed, and kept up by the Stage from then on."""

    def __init__(self, volumes: Iterable[PersistentVolume], pods_by_node: PodsByNode) -> None:
        self._by_class: dict[str, list[PersistentVolume]] = {}
        self._users: dict[Key, int] = {}  # by claim
        self._bindings: dict[Key, list[Binding]] = {}  # by claim, one for each pod that was placed
        self._takers: dict[str, int] = {}  # by volume
        self._meant: dict[str, list[Binding]] = {}  # by uid of the pod whose placing meant them
        for volume in sorted(volumes, key=lambda known: known.metadata.name):
            self._by_class.setdefault(class_name(volume), []).append(volume)
        for _, pods in pods_by_node:
            for pod in pods.values():
                if pod.spec.volumes:
                    self._count(pod, +1)

    def volumes_of(self, storage_class: str) -> Sequence[PersistentVolume]:
        """All volumes of a class, by name."""
        return self._by_class.get(storage_class, ())

    def is_in_use(self, claim: Key) -> bool:
        """Whether a pod with a node uses this claim."""
        return claim in self._users

    def is_taken(self, volume: str) -> bool:
        """Whether placing a pod takes this volume."""
        return volume in self._takers

    def binding_of(self, claim: Key) -> Binding | None:
        """What placing pods has meant for a claim."""
        known = self._bindings.get(claim)
        return known[0] if known else None

    def put(self, pod: Pod, bindings: list[Binding]) -> None:
        """A pod comes, with what that means for its claims."""
        self._count(pod, +1)
        if bindings:
            self._meant[pod.metadata.uid] = bindings
        for binding in bindings:
            self._bindings.setdefault(binding.key, []).append(binding)
            if binding.volume is not None:
                add(self._takers, binding.volume.metadata.name, +1)

    def take(self, pod: Pod) -> None:
        """A pod goes."""
        self._count(pod, -1)
        for binding in self._meant.pop(pod.metadata.uid, ()):
            alike = self._bindings[binding.key]
            alike.remove(binding)
            if not alike:
                del self._bindings[binding.key]
            if binding.volume is not None:
                add(self._takers, binding.volume.metadata.name, -1)

    def _count(self, pod: Pod, by: int) -> None:
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                add(self._users, (pod.metadata.namespace, volume.persistent_volume_claim.claim_name), by)
