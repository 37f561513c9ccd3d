"""Lists: filters, order and pages are the same for every collection."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urlencode

from growth.api.selectors import LabelSelector, SelectorError, parse_selector
from growth_lab.hetzner_sandbox.api_errors import invalid_field
from growth_lab.hetzner_sandbox.messages import Answer, Request

_PER_PAGE: Final = 25
_MOST_PER_PAGE: Final = 50
_SORTABLE: Final = ("id", "name", "created", "command", "status", "started", "finished")

Json = Mapping[str, Any]


class _Record(Protocol):
    @property
    def id(self) -> int: ...


R = TypeVar("R", bound=_Record)


def listed(
    request: Request,
    root: str,
    records: Iterable[R],
    write: Callable[[R], Json],
    filters: Sequence[str] = ("name",),
) -> Answer:
    """One page of what the query asks for. ``filters`` are the parameters that must equal the field of that name."""
    asked = {name: values for name in filters if (values := request.values(name))}
    selector = _selector(request)
    kept = _sorted(request, [one for one in records if _is_wanted(one, asked, selector)])
    page, per_page = _number(request, "page", 1), min(_number(request, "per_page", _PER_PAGE), _MOST_PER_PAGE)
    last = max(1, -(-len(kept) // per_page))
    pages = {
        "page": page,
        "per_page": per_page,
        "previous_page": page - 1 if page > 1 else None,
        "next_page": page + 1 if page < last else None,
        "last_page": last,
        "total_entries": len(kept),
    }
    shown = kept[(page - 1) * per_page : page * per_page]
    body = {root: [write(one) for one in shown], "meta": {"pagination": pages}}
    return Answer(200, body, (("Link", _links(request, pages)),))


def _selector(request: Request) -> LabelSelector:
    try:
        return parse_selector(request.value("label_selector") or "")
    except SelectorError as error:
        raise invalid_field("label_selector", str(error)) from error


def _is_wanted(record: _Record, asked: Mapping[str, Sequence[str]], selector: LabelSelector) -> bool:
    if any(str(getattr(record, name)) not in values for name, values in asked.items()):
        return False
    return selector.matches(getattr(record, "labels", {}))


def _sorted(request: Request, records: list[R]) -> list[R]:
    records.sort(key=lambda record: record.id)
    # The last wish first: sorting is stable, so earlier ones weigh more.
    for wish in reversed(request.values("sort")):
        field, _, direction = wish.partition(":")
        if field not in _SORTABLE or direction not in ("", "asc", "desc"):
            raise invalid_field("sort", f"{wish!r} is no order: expected a field, and asc or desc behind a colon")
        records.sort(key=lambda record: _rank(getattr(record, field, None)), reverse=direction == "desc")
    return records


def _rank(value: object) -> tuple[bool, int, str]:
    """Nothing comes last, numbers by size, texts and instants by letters."""
    number = value if isinstance(value, int) else 0
    text = value.isoformat(timespec="microseconds") if isinstance(value, datetime) else str(value)
    return (value is None, number, text)


def _number(request: Request, name: str, default: int) -> int:
    text = request.value(name)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise invalid_field(name, f"{text!r} is no page or size of one: expected a whole number from 1")
    return int(text)


def _links(request: Request, pages: Mapping[str, int | None]) -> str:
    rest = [(key, value) for key, value in request.query if key != "page"]
    targets = {"prev": pages["previous_page"], "next": pages["next_page"], "last": pages["last_page"]}
    return ", ".join(
        f'<{request.path}?{urlencode([*rest, ("page", number)])}>; rel="{relation}"'
        for relation, number in targets.items()
        if number is not None
    )
