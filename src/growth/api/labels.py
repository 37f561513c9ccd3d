"""What may stand in a label: the API server's rules for keys and values.

They matter beyond writing labels: a node selector that carries an illegal key or value is not refused, it silently
matches nothing (see ``selectors``), and we must come to the same answer.
"""

import re
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_SUBDOMAIN_PART}(\.{_SUBDOMAIN_PART})*")
_HOSTNAME = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
MAX_SUBDOMAIN = 253


@lru_cache(4096)
def is_label_key(key: str) -> bool:
    """Whether ``key`` is a name of up to 63 characters, behind an optional DNS prefix: ``growth.dev/pool``."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > MAX_SUBDOMAIN or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Whether ``value`` is empty or up to 63 letters, digits, ``-``, ``_`` and ``.``, beginning and ending plainly."""
    return not value or _NAME.fullmatch(value) is not None


def is_hostname(name: str) -> bool:
    """Whether ``name`` can be the name of a machine: up to 63 small letters, digits and ``-``, no dot."""
    return _HOSTNAME.fullmatch(name) is not None


def is_object_name(name: str) -> bool:
    """Whether ``name`` can be that of a node or a ConfigMap: DNS names of up to 253 characters."""
    return len(name) <= MAX_SUBDOMAIN and _SUBDOMAIN.fullmatch(name) is not None
