"""The nodes of ``bench.memory``: their labels, what happens to these before a node leaves, what it brings back."""

from collections.abc import Mapping
from typing import Any, Final

from growth.api.node_memory import MARKER

# Of ten nodes one has a label changed, and one has a label removed, right before it is deleted.
_BOTH: Final = ("kubernetes.io", "beta.kubernetes.io")
_EVERY: Final = 10
_CHANGED, _REMOVED = 3, 7
_LONGEST: Final = "k" * 63
_CAPACITY: Final = {"cpu": "4", "memory": "16Gi", "pods": "110"}


class Member:
    """One node through its lives. ``labels`` is what people gave it: that, and nothing else, has to be there again."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"node-{number:05}"
        self.life = 1
        self.labels = {
            "team": f"team-{number % 7}",
            "rack": f"r{number // 40}-{number % 40}",
            "dedicated": "",
            "example.com/tier": ("gold", "silver", "bronze")[number % 3],
            "example.com/with---SLASH---token": "v1.2.3",
            f"a-rather-long-prefix.of-some-department.example.com/{_LONGEST}": "v" * 63,
        }

    def body(self, *, with_labels: bool) -> dict[str, Any]:
        """As its kubelet registers it; with what people gave it only the first time."""
        own = {"kubernetes.io/hostname": self.name}
        # Both forms of these, as a kubelet has it: kube-controller-manager would add the old one later, as a change.
        own |= {f"{prefix}/os": "linux" for prefix in _BOTH} | {f"{prefix}/arch": "amd64" for prefix in _BOTH}
        given = self.labels if with_labels else {}
        # The kubelet of this one still brings what somebody took away: it has to go again.
        brought = {"team": "as-installed"} if not with_labels and "team" not in self.labels else {}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        return {
            "metadata": {"name": self.name, "labels": own | given | brought},
            "spec": {"providerID": f"bench://{self.name}"},
            "status": {"capacity": _CAPACITY, "allocatable": _CAPACITY, "conditions": [ready]},
        }

    def last_change(self) -> dict[str, str | None]:
        """What is done to its labels right before it is deleted; empty for most."""
        self.life += 1
        if self.number % _EVERY == _CHANGED:
            self.labels["rack"] = f"moved-{self.life}"
            return {"rack": self.labels["rack"]}
        if self.number % _EVERY == _REMOVED and self.labels.pop("team", None) is not None:
            return {"team": None}
        return {}

    def is_whole(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels has its marker and everything that it should have."""
        return MARKER in labels and not self.lost(labels) and not self.resurrected(labels)

    def lost(self, labels: Mapping[str, str]) -> list[str]:
        """Keys of labels that are missing, or say something else."""
        return [key for key, value in self.labels.items() if labels.get(key) != value]

    def resurrected(self, labels: Mapping[str, str]) -> list[str]:
        """Keys of labels that somebody took away and that are there again."""
        return [key for key in ("team",) if key not in self.labels and key in labels]
