"""Which kinds we speak, where the API server serves them and into which struct they are decoded."""

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Kind(msgspec.Struct, Generic[T], frozen=True):
    """One kind of object: its address on the API server and our type for it."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool
    type: type[T]

    @property
    def api_version(self) -> str:
        """What stands in ``apiVersion`` of a manifest."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path under which all versions of a group's objects live: ``/api/v1`` or ``/apis/apps/v1``."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str = "") -> str:
        """The path of all objects, of one namespace if it is named."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else f"{self.root}/{self.plural}"

    def path(self, name: str, namespace: str = "", subresource: str = "") -> str:
        """The path of one object or of its subresource."""
        base = f"{self.collection(namespace)}/{name}"
        return f"{base}/{subresource}" if subresource else base
