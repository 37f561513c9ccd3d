"""Names: a server's must be a host name, which may have dots and capital letters."""

import re
from typing import Final

from growth_lab.hetzner_sandbox.api_errors import invalid_field

_HOSTNAME: Final = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
_MOST: Final = 253


def check_hostname(name: str) -> None:
    """Refuse what RFC 1123 does not allow."""
    if len(name) > _MOST or not _HOSTNAME.fullmatch(name):
        raise invalid_field("name", f"{name!r} is no host name of RFC 1123")


def check_name(name: str) -> None:
    """Refuse an empty name; things that are no hosts may have any other."""
    if not name:
        raise invalid_field("name", "must not be empty")
