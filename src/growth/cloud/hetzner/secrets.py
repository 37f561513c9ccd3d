"""Texts from Secrets, read when they are needed, kept nowhere and never told: errors name the Secret and its keys.

The API token: from a Secret or the environment, never shown, and read again when it may be another one.
"""

import os
import re
from collections.abc import Awaitable, Callable
from typing import Final

from growth.api.kinds import SECRETS
from growth.cloud.errors import Invalid, ProviderError, RateLimited, Unauthorized, Unavailable
from growth.kube import errors as kube
from growth.kube.client import Client

ROLE = "growth-hetzner"
"""The Role in Growth's namespace that lets it read Secrets, by name (charts/growth/rbac.yaml)."""


def place_of(namespace: str, name: str, key: str) -> str:
    """How errors name a text."""
    return f"Secret {namespace}/{name}, key {key}"


async def secret_text(client: Client, namespace: str, name: str, key: str) -> str:
    """The text under this key; raises Invalid, or Unavailable if the API server does not answer."""
    where = place_of(namespace, name, key)
    try:
        secret = await client.get(SECRETS, name, namespace)
    except kube.NotFound as error:
        raise Invalid(f"{where}: there is no such Secret: expected one with this key") from error
    except kube.Forbidden as error:
        # Not Unauthorized: only who names this Secret gets nothing, and nothing is wrong with the provider's token.
        raise Invalid(
            f"{where}: the role does not let Growth read it: expected its name among resourceNames of "
            f"the Role {ROLE} in {namespace}"
        ) from error
    except kube.KubeError as error:
        raise nothing_bought(where, error) from error
    value = secret.data.get(key)
    if value is None:
        there = f"the Secret has {', '.join(sorted(secret.data))}" if secret.data else "the Secret has no keys"
        raise Invalid(f"{where}: there is no such key: {there}")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        # Not chained: the error holds the bytes.
        raise Invalid(f"{where}: it is no text: expected UTF-8, and a binary or compressed file is none") from None
    if not text.strip():
        raise Invalid(f"{where}: it is empty: expected a text")
    return text


def nothing_bought(what: str, error: kube.KubeError) -> ProviderError:
    """What the API server's trouble means before the provider was asked for anything: it may pass, nothing was made."""
    message = f"{what}: {error}"
    if isinstance(error, kube.TooManyRequests) and error.retry_after:
        return RateLimited(message, retry_after=error.retry_after)
    return Unavailable(message, may_have_acted=False)


VARIABLE: Final = "HCLOUD_TOKEN"
KEY: Final = "token"
# Anything else cannot stand in a header, and the error that says so would show the token.
_POSSIBLE: Final = re.compile(r"[\x21-\x7e]+")

ReadToken = Callable[[], Awaitable[str]]
"""Reads the token as it is now; raises Unauthorized, or Unavailable if nobody can say."""


def token_from_secret(client: Client, namespace: str, name: str) -> ReadToken:
    """The key ``token`` of a Secret in Growth's own namespace."""

    async def read() -> str:
        try:
            text = await secret_text(client, namespace, name, KEY)
        except Invalid as error:  # nothing can be bought without it, whatever is asked for
            raise Unauthorized(f"there is no token for the Hetzner API: {error}") from error
        return _checked(text, f"Secret {namespace}/{name}, key {KEY}")

    return read


def token_from_environment() -> ReadToken:
    """The variable that all of Hetzner's own tools read."""

    async def read() -> str:
        text = os.environ.get(VARIABLE, "")
        if not text.strip():
            raise Unauthorized(
                "there is no token for the Hetzner API: expected hetzner.tokenSecret in the settings, "
                f"or the environment variable {VARIABLE}"
            )
        return _checked(text, f"the environment variable {VARIABLE}")

    return read


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if not _POSSIBLE.fullmatch(token):
        raise Unauthorized(f"{where}: this is no token: expected one line of letters and digits")
    return token
