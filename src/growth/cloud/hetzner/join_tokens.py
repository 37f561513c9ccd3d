"""Join tokens: each machine gets one of its own, good for an hour, which goes with its NodeRequest.

A bootstrap token is a Secret in kube-system whose name holds the first half of the token. That half follows from the
NodeRequest's uid and the number of the attempt, the other half is drawn. So nobody needs to look what is there, and
the right to create Secrets is enough: where a name is taken (by a process before us that was stopped before it could
use its token, say), the next attempt has another one.

It lets a kubelet ask for a certificate, and kubeadm read how to join. After its hour it opens nothing.
"""

import hashlib
import secrets
import string
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import SECRETS
from growth.api.machine import MachineRequest
from growth.api.offering import POOL
from growth.api.timestamp import format_time
from growth.cloud.errors import Invalid, Unavailable
from growth.cloud.hetzner.secrets import ROLE, nothing_bought
from growth.kube import errors as kube
from growth.kube.client import Client

NAMESPACE: Final = "kube-system"
LIFETIME: Final = timedelta(hours=1)
"""A server boots in a minute or so; who stays out for an hour was given up long ago (provision.machineWithin)."""
_FRESH: Final = timedelta(minutes=45)
"""A token that has so much left is used again when the same machine is asked for again."""
GROUP: Final = "system:bootstrappers:kubeadm:default-node-token"
"""The group that kubeadm lets read how to join; k3s and Talos are content with its first half."""
_ATTEMPTS: Final = 32
_ALPHABET: Final = string.ascii_lowercase + string.digits
_ID_LENGTH: Final = 6
_SECRET_LENGTH: Final = 16
STAND_IN: Final = f"{'x' * _ID_LENGTH}.{'x' * _SECRET_LENGTH}"
"""As long as a token, to see whether a text has room for one before one is made."""


class _Minted(msgspec.Struct, frozen=True):
    token: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"_Minted(expires_at={self.expires_at})"


class JoinTokens:
    """Makes them, and remembers those that are still good, so that a purchase that is tried again needs no other."""

    def __init__(self, client: Client, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._minted: dict[str, _Minted] = {}

    async def token_for(self, request: MachineRequest) -> str:
        """The token of this request; raises Invalid, or Unavailable if the API server does not answer."""
        if not request.uid:
            raise Invalid(f"{request.name}: a join token belongs to a NodeRequest: expected the uid of one, got none")
        now = self._now()
        self._minted = {uid: one for uid, one in self._minted.items() if one.expires_at - now > LIFETIME - _FRESH}
        known = self._minted.get(request.uid)
        if known is None:
            known = self._minted[request.uid] = await self._mint(request, now + LIFETIME)
        return known.token

    async def _mint(self, request: MachineRequest, expires_at: datetime) -> _Minted:
        for attempt in range(_ATTEMPTS):
            half = token_id(request.uid, attempt)
            other = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
            try:
                await self._client.create(SECRETS, manifest(request, half, other, expires_at), NAMESPACE)
            except kube.AlreadyExists:
                continue
            except (kube.Forbidden, kube.Invalid) as error:
                raise Invalid(
                    f"{request.name}: no join token can be made: {error}; "
                    f"expected the Role {ROLE} in {NAMESPACE}, or user data without the placeholder"
                ) from error
            except kube.KubeError as error:
                raise nothing_bought(f"join token for {request.name}", error) from error
            return _Minted(f"{half}.{other}", expires_at)
        raise Unavailable(
            f"{request.name}: {_ATTEMPTS} join tokens were made for it already: the next may be when those are gone",
            may_have_acted=False,
        )


def token_id(uid: str, attempt: int) -> str:
    """The public half of a token: six letters and digits that follow from whom it is for."""
    number = int.from_bytes(hashlib.sha256(f"{uid}/{attempt}".encode()).digest())
    return "".join(_ALPHABET[number // len(_ALPHABET) ** place % len(_ALPHABET)] for place in range(_ID_LENGTH))


def manifest(request: MachineRequest, half: str, other: str, expires_at: datetime) -> dict[str, Any]:
    """The Secret of a token, as ``kubeadm token create`` would make it, but with an owner."""
    owner = {
        "apiVersion": NODE_REQUESTS.api_version,
        "kind": NODE_REQUESTS.name,
        "name": request.name,
        "uid": request.uid,
    }
    data = {
        "token-id": half,
        "token-secret": other,
        "expiration": format_time(expires_at),
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": GROUP,
        "description": f"Growth: for the node {request.name} to join",
    }
    return {
        "metadata": {
            "name": f"bootstrap-token-{half}",
            "labels": {POOL: request.pool},
            "ownerReferences": [owner],
        },
        "type": "bootstrap.kubernetes.io/token",
        # Bytes are written in base64.
        "data": {key: value.encode() for key, value in data.items()},
    }
