"""The only way to the API: Hetzner's own client, whose calls block, on threads of its own.

The client retries by itself what it thinks can be retried, purchases included, and sleeps meanwhile. That is turned
off: Growth asks again, later and with all it knows by then. It also has no patience of its own, so one is set.

Lists, page by page.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec
import requests
from hcloud import APIException, Client
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError

from growth.cloud.errors import ProviderError, RateLimited, Unavailable
from growth.cloud.hetzner.provider_errors import REFUSED_CREDENTIALS, ApiRefused, NoAnswer
from growth.cloud.hetzner.rate_budget import RateBudget
from growth.cloud.hetzner.secrets import ReadToken
from growth.cloud.hetzner.wire import Meta, WireErrorDetails, read

T = TypeVar("T")
Json = Mapping[str, Any]
Query = Mapping[str, str | int | Sequence[str | int]]

# To connect, and until the answer begins. A purchase is answered in a second or three.
_TIMEOUT_SECONDS: Final = (5.0, 20.0)
# As many as the client's session keeps connections.
_THREADS: Final = 10

Connect = Callable[[str], Client]
"""A client with this token."""


class Run(Protocol):
    """Runs what blocks, somewhere else."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...  # noqa: D102


class Threads:
    """A few threads of our own: a provider that hangs must not use up those that others need."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="hetzner")
        self._is_closed = False

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Run it on one of them. Who is cancelled meanwhile goes; the work does not, and may still be done."""
        if self._is_closed:
            raise NoAnswer("the provider is closed", may_have_acted=False)
        return asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """What has not begun never will."""
        self._is_closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)


def connect_to(endpoint: str, budget: RateBudget) -> Connect:
    """Clients of the API at this address, whose answers are counted."""

    def note(response: requests.Response, *_: object, **__: object) -> requests.Response:
        budget.note(response.headers)
        return response

    def connect(token: str) -> Client:
        client = Client(token, api_endpoint=endpoint, application_name="growth", timeout=_TIMEOUT_SECONDS)
        inner = client._client  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - there is no other knob (2.27)
        inner._retry_max_retries = 0  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
        session = inner._session  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
        session.hooks["response"].append(note)
        return client

    return connect


class Api:
    """Asks, with the token that holds now. Raises Refused or Silent; and a ProviderError if there is no token."""

    def __init__(self, connect: Connect, read_token: ReadToken, budget: RateBudget, run: Run) -> None:
        self._connect, self._read_token = connect, read_token
        self._budget, self._run = budget, run
        self._token = ""
        self._client: Client | None = None
        self._reading = asyncio.Lock()

    async def ask(
        self, method: str, path: str, *, query: Query | None = None, body: Json | None = None, is_urgent: bool = True
    ) -> Json:
        """One call. What is not urgent is refused while little is left of the limit."""
        self._budget.check(is_urgent=is_urgent)
        client = self._client or await self._renewed(None)
        try:
            return await self._send(client, method, path, query, body)
        except ApiRefused as refused:
            if refused.code not in REFUSED_CREDENTIALS:
                raise
            newer = client
            with suppress(ProviderError):  # then what the API said is what is told
                newer = await self._renewed(client)
            if newer is client:
                raise
            return await self._send(newer, method, path, query, body)

    async def refresh_token(self) -> None:
        """Take over a token that was rotated, before the old one is refused."""
        try:
            await self._renewed(self._client)
        except (Unavailable, RateLimited):
            if self._client is None:
                raise  # otherwise the token that is known may still hold

    async def _renewed(self, known: Client | None) -> Client:
        """The client with the token as it is now: another than the one that is known only if the token is another."""
        async with self._reading:
            if self._client is not None and self._client is not known:
                return self._client
            token = await self._read_token()
            if self._client is None or token != self._token:
                self._client, self._token = self._connect(token), token
            return self._client

    async def _send(self, client: Client, method: str, path: str, query: Query | None, body: Json | None) -> Json:
        writes = method != "GET"
        try:
            send = cast("Callable[..., Json]", cast("object", client.request))  # pyright: ignore[reportUnknownMemberType]
            return await self._run(lambda: send(method, path, params=query, json=body))
        except APIException as error:
            retry_after = self._budget.note_refusal() if error.code == "rate_limit_exceeded" else 0.0
            raise ApiRefused(error.code, _told(error), writes=writes, retry_after=retry_after) from None
        except requests.RequestException as error:
            kind = type(error).__name__
            message = f"there was no answer ({kind})" if writes or _was_sent(error) else f"nobody answers ({kind})"
            raise NoAnswer(message, may_have_acted=writes and _was_sent(error)) from None
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            # An error body in a shape that the client cannot read.
            raise NoAnswer(f"the answer cannot be read ({type(error).__name__})", may_have_acted=writes) from None


def _told(error: APIException) -> str:
    """What the API says, with the fields or limits that it is about; an answer without JSON is somebody else's."""
    if isinstance(error.code, int):
        return f"the answer is no error of the API: {error.message}"
    try:
        complaint = msgspec.convert(error.details or {}, WireErrorDetails)
        named = [one.name for one in (*complaint.fields, *complaint.limits)]
    except msgspec.ValidationError:
        named = []
    return f"{error.message} [{', '.join(named)}]" if named else str(error.message)


def _was_sent(error: requests.RequestException) -> bool:
    """Whether the API may have heard us."""
    if isinstance(error, requests.ConnectTimeout):
        return False
    cause: object = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else cause
    return not isinstance(reason, NewConnectionError | ConnectTimeoutError)


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
