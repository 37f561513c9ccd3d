"""The virtual API server: a request value in, the answer that Kubernetes 1.36 would give out."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from growth.kube.transport import Method, Request, Response
from growth.kube.verbs import permission_of, target_of
from growth_lab.simulator.api import kind_defaults
from growth_lab.simulator.api.computed import Computed
from growth_lab.simulator.api.connection import VirtualSend
from growth_lab.simulator.api.deletion import Deleting, options_of
from growth_lab.simulator.api.error_responses import Refusal, bad_request, no_such_method, refused
from growth_lab.simulator.api.lists import Lists
from growth_lab.simulator.api.namespaces import NamespaceEnd
from growth_lab.simulator.api.paths import Address, address_of
from growth_lab.simulator.api.pod_defaults import PodDefaults
from growth_lab.simulator.api.rbac import Roles
from growth_lab.simulator.api.watches import Watcher, Watches
from growth_lab.simulator.api.writes import Writing
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.faults import Ask, Faults
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import PODS, PRIORITY_CLASSES
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings

VERSION: Final = "v1.36.3"
_SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_ENCODE: Final = msgspec.json.Encoder().encode


class VirtualApiServer:
    """One API server over a store. ``connect`` is the way in; controllers use the store directly.

    ``roles`` are manifests (Role, ClusterRole and their bindings); ``computed`` is for what is worked out when read.
    """

    def __init__(
        self,
        clock: Clock,
        store: Store,
        *,
        timings: Timings | None = None,
        faults: Faults | None = None,
        roles: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.clock, self.store = clock, store
        self.timings = timings or Timings()
        self.faults = faults or Faults()
        self.computed = Computed()
        self.incarnation = 0
        self._roles = Roles(roles)
        self._down_until = 0.0
        pods = PodDefaults(clock, store, self.timings)
        kind_defaults.install(store)
        self._writing = Writing(clock, store, pods)
        self._deleting = Deleting(clock, store, NamespaceEnd(clock, store, self.timings))
        self._lists = Lists(clock, store, self.computed, self.timings)
        self._watches = Watches(clock, store, self._lists, self.computed, self.timings)
        for name, value in _SYSTEM_CLASSES.items():
            if store.get(PRIORITY_CLASSES, name) is None:
                store.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})

    def connect(self, user: str) -> VirtualSend:
        """A sender for this user: ``rbac.ADMIN``, or one that ``rbac.service_account`` names."""
        return VirtualSend(self, user)

    @property
    def is_down(self) -> bool:
        """Whether connections are refused."""
        return self.clock.seconds() < self._down_until

    def restart(self, down_seconds: float) -> None:
        """Break all connections, refuse new ones for a while, and forget what watches could have caught up on."""
        self.incarnation += 1
        self._down_until = self.clock.seconds() + down_seconds
        self._watches.restart()

    def asked(self, user: str, request: Request) -> Ask:
        """The request, as faults see it."""
        permission, target = permission_of(request), target_of(request.path)
        verb, resource = (permission.verb, permission.resource) if permission else ("get", request.path)
        return Ask(user, verb, resource, target.name if target else "", self.clock.seconds())

    def answer(self, user: str, request: Request) -> Response:
        """The whole answer to anything but a watch."""
        try:
            self._roles.check(user, request)
            if "dryRun" in dict(request.query):
                raise bad_request("dryRun is not served here: this server would do the work")
            if request.path == "/version":
                return Response(200, _ENCODE({"major": "1", "minor": "36", "gitVersion": VERSION}))
            status, body = self._done(address_of(request.path), request)
        except Refusal as refusal:
            return refused(refusal)
        return Response(status, _ENCODE(body), {"content-type": "application/json"})

    def watch(self, user: str, request: Request) -> Watcher:
        """A watcher that has not begun to deliver. Raises Refusal."""
        self._roles.check(user, request)
        at = address_of(request.path)
        query = dict(request.query)
        if at.name:
            query["fieldSelector"] = ",".join(filter(None, (query.get("fieldSelector"), f"metadata.name={at.name}")))
        return self._watches.begin(at.resource, at.namespace, query)

    def _done(self, at: Address, request: Request) -> tuple[int, Json]:
        match request.method:
            case Method.GET:
                return 200, self._read(at, request)
            case Method.POST if at.subresource == "eviction":
                return 201, self._deleting.evict(at, request)
            case Method.POST if at.subresource == "binding":
                return 201, self._deleting.bind(at, request)
            case Method.POST if not at.name:
                if at.resource.is_namespaced and not at.namespace:
                    raise no_such_method()
                return 201, self._writing.create(at, request)
            case Method.PUT if at.name:
                return 200, self._writing.replace(at, request)
            case Method.PATCH if at.name:
                thing, is_new = self._writing.patch(at, request)
                return (201 if is_new else 200), thing
            case Method.DELETE if at.name and not at.subresource:
                return 200, self._deleting.delete(at, request)
            case Method.DELETE if not at.name and (at.namespace or not at.resource.is_namespaced):
                return 200, self._delete_all(at, request)
            case _:
                raise no_such_method()

    def _read(self, at: Address, request: Request) -> Json:
        query = dict(request.query)
        if query.get("watch") in ("1", "true"):
            raise bad_request("a watch is read as a stream")
        if at.subresource not in ("", "status"):
            raise no_such_method()
        if not at.name:
            return self._lists.page(at.resource, at.namespace, query)
        found = self._writing.existing(at)
        view = self.computed.view(at.resource)
        return view(found) if view else found

    def _delete_all(self, at: Address, request: Request) -> Json:
        found = self._lists.selected(at.resource, at.namespace, dict(request.query))
        options = options_of(request)
        gone = [self._deleting.remove(at.resource, thing, options) for thing in found]
        kind = f"{at.resource.kind}List"
        items = gone if at.resource is PODS else found
        meta = {"resourceVersion": str(self.store.version)}
        return {"kind": kind, "apiVersion": at.resource.api_version, "metadata": meta, "items": items}
