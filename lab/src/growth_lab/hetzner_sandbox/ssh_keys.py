"""Public keys."""

import base64
import binascii
import hashlib

import msgspec

from growth_lab.hetzner_sandbox.account import Account, check_name_free, found
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid_field
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.names import check_name
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.records import SshKey
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import ssh_key_json


class _Create(Body, frozen=True):
    name: str
    public_key: str
    labels: dict[str, str] | None = None


class _Update(Body, frozen=True):
    name: str | None = None
    labels: dict[str, str] | None = None


def list_ssh_keys(account: Account, request: Request) -> Answer:
    """All of them."""
    return listed(request, "ssh_keys", account.ssh_keys.values(), ssh_key_json, ("name", "fingerprint"))


def get_ssh_key(account: Account, _: Request, key_id: int) -> Answer:
    """One of them."""
    return Answer(200, {"ssh_key": ssh_key_json(found(account.ssh_keys, key_id, "SSH key"))})


def create_ssh_key(account: Account, request: Request) -> Answer:
    """A key; the same one cannot be there twice."""
    asked = read_body(request, _Create)
    check_name(asked.name)
    check_labels(asked.labels or {})
    check_name_free(account.ssh_keys, asked.name, "SSH key")
    fingerprint = _fingerprint(asked.public_key)
    if any(one.fingerprint == fingerprint for one in account.ssh_keys.values()):
        raise Refusal("uniqueness_error", "SSH key not unique", {"fields": [{"name": "public_key"}]})
    key = SshKey(
        id=account.new_id(),
        name=asked.name,
        public_key=asked.public_key,
        fingerprint=fingerprint,
        created=account.now,
        labels=asked.labels or {},
    )
    account.ssh_keys[key.id] = key
    return Answer(201, {"ssh_key": ssh_key_json(key)})


def update_ssh_key(account: Account, request: Request, key_id: int) -> Answer:
    """Another name, other labels."""
    key, asked = found(account.ssh_keys, key_id, "SSH key"), read_body(request, _Update)
    if asked.name is not None:
        check_name(asked.name)
        check_name_free(account.ssh_keys, asked.name, "SSH key", key_id)
        key = msgspec.structs.replace(key, name=asked.name)
    if asked.labels is not None:
        check_labels(asked.labels)
        key = msgspec.structs.replace(key, labels=asked.labels)
    account.ssh_keys[key_id] = key
    return Answer(200, {"ssh_key": ssh_key_json(key)})


def delete_ssh_key(account: Account, _: Request, key_id: int) -> Answer:
    """Servers that have it keep it."""
    found(account.ssh_keys, key_id, "SSH key")
    del account.ssh_keys[key_id]
    return Answer(204)


def _fingerprint(public_key: str) -> str:
    """MD5 of the key's bytes, in pairs, as ``ssh-keygen -E md5`` shows it."""
    try:
        content = base64.b64decode(public_key.split()[1], validate=True)
    except (IndexError, binascii.Error) as error:
        raise invalid_field("public_key", "is no public key: expected such as 'ssh-ed25519 AAAA... me'") from error
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))
