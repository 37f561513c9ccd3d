"""Lists, page by page."""

from collections.abc import Mapping
from typing import Final, TypeVar

from growth.cloud.hetzner.calling import Api, Query
from growth.cloud.hetzner.wire import Meta, read

T = TypeVar("T")

# As many as the API gives at once.
PER_PAGE: Final = 50
# A list that changes under our hands is read so many times at most.
_ATTEMPTS: Final = 3


async def read_all(
    api: Api, path: str, root: str, wanted: type[T], query: Mapping[str, str] | None = None, *, is_urgent: bool = True
) -> tuple[list[T], int]:
    """All that a list holds, and how many pages it took.

    Pages are cut anew for each call: when something is deleted while we read, what follows moves up, and one may be
    missed. A list whose length changed meanwhile is therefore read again.
    """
    found: list[T] = []
    pages = 0
    for _ in range(_ATTEMPTS):
        found, lengths = [], set[int]()
        page: int | None = 1
        while page is not None:
            asked: Query = {**(query or {}), "page": page, "per_page": PER_PAGE}
            answer = await api.ask("GET", path, query=asked, is_urgent=is_urgent)
            pages += 1
            found.extend(read(answer.get(root), list[wanted], f"GET {path}"))
            paging = read(answer.get("meta") or {}, Meta, f"GET {path}").pagination
            if paging.total_entries is not None:
                lengths.add(paging.total_entries)
            page = paging.next_page
        if not lengths or lengths == {len(found)}:
            break
    return found, pages
