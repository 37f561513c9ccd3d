"""The API token: from a Secret or the environment, never shown, and read again when it may be another one."""

import os
import re
from collections.abc import Awaitable, Callable
from typing import Final

from growth.cloud.errors import Invalid, Unauthorized
from growth.cloud.hetzner.secret_reading import secret_text
from growth.kube.client import Client

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
