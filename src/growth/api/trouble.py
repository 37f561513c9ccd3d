"""Why a pod does not start, as kubelet and scheduler put it: kept in a few words, because nearly no pod has any.

Words that change by themselves (how long a back-off is, whether an image is just being pulled again) are left out, so
that whoever repeats them does not write again and again.
"""

from collections.abc import Iterable
from sys import intern
from typing import Final

from growth.api.meta import Condition
from growth.api.pod import ContainerStatus
from growth.api.slim import Slim

# A scheduler lists what is wrong with which nodes; the first few hundred characters say what matters.
_WORDS_AT_MOST: Final = 400

# Reasons for which a container waits and that do not pass by themselves, with the word under which they are told: a
# kubelet alternates between some of them.
_OF_IMAGES: Final = {
    "ErrImagePull": "ImagePullBackOff",
    "ImagePullBackOff": "ImagePullBackOff",
    "ErrImageNeverPull": "ErrImageNeverPull",
    "InvalidImageName": "InvalidImageName",
    "ImageInspectError": "ImageInspectError",
    "RegistryUnavailable": "ImagePullBackOff",
    "CrashLoopBackOff": "CrashLoopBackOff",
}
# Of these the message names what is missing: a Secret, a ConfigMap, a command.
_OF_SETTINGS: Final = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})


class Waiting(Slim, frozen=True):
    """What a container waits for."""

    reason: str = ""
    message: str = ""


class ContainerState(Slim, frozen=True):
    """What a container does; only that it waits is read."""

    waiting: Waiting | None = None


class WireContainerStatus(ContainerStatus, frozen=True):
    """A container's status as it is sent."""

    image: str = ""
    state: ContainerState = ContainerState()

    @property
    def kept(self) -> ContainerStatus:
        """What we keep of it while the container is resized."""
        return ContainerStatus(self.name, self.resources, self.allocated_resources)


class WireCondition(Condition, frozen=True):
    """A condition as it is sent."""

    message: str = ""


def trouble_of(conditions: Iterable[WireCondition], containers: Iterable[WireContainerStatus]) -> str:
    """What keeps a pod from starting; empty if nothing that anybody has said."""
    for container in containers:
        waiting = container.state.waiting
        if waiting is None:
            continue
        if waiting.reason in _OF_IMAGES:
            return intern(f"container {container.name}: {_OF_IMAGES[waiting.reason]}, image {container.image}")
        if waiting.reason in _OF_SETTINGS:
            return intern(f"container {container.name}: {waiting.reason}, {waiting.message}"[:_WORDS_AT_MOST])
    for condition in conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return intern(condition.message[:_WORDS_AT_MOST])
    return ""
