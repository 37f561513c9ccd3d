"""The reading of files that a person named, and the words in which that fails (``BadAccess``).

Every failure in here is a person's to mend, so each is told as one sentence: where, what is wrong, what to do. No
sentence ever carries a secret: of tokens, keys and a plugin's output only kind, size and dates are told.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from growth.kube.errors import BadAccess


def shown(path: Path) -> str:
    """The path as people write it, with the home folder as ``~``."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):  # elsewhere, or a user without a home, as in many containers
        return str(path)


def listed(names: Iterable[str]) -> str:
    """The names that would have been right, few enough to read: a file of a fleet can hold hundreds."""
    known = sorted(names)
    if not known:
        return "none"
    return ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")


def closest(name: str, names: Iterable[str]) -> str | None:
    """The known name that was probably meant, if one is near."""
    return next(iter(get_close_matches(name, list(names), n=1)), None)


def bytes_of(path: Path, where: str, next_step: str) -> bytes:
    """The content of a file that a person named; ``where`` says who named it."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        problem, cause = f"there is no file {shown(path)}", error
    except IsADirectoryError as error:
        problem, cause = f"{shown(path)} is a directory, expected a file", error
    except PermissionError as error:
        problem, cause = f"no permission to read {shown(path)}", error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problem, cause = f"cannot read {shown(path)} ({reason})", error
    raise BadAccess(where, problem, next_step) from cause
