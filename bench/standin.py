"""A stand-in for an API server, for measuring clients: lists in pages or as a stream, and watches, over TLS.

It answers what a client's informer asks and nothing else, from objects that it makes up as they are asked for, so that
what is measured is the client. Every event and every item of a list is a chunk of its own, as the real server writes
them. Started as a program it prints the path of a kubeconfig, and ends when its standard input does.
"""

import argparse
import asyncio
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, cast
from urllib.parse import parse_qs, urlsplit

from bench.objects import node, pod
from growth_lab.local_cluster.certificates import write_certificates
from growth_lab.local_cluster.kubeconfig import with_certificate, write
from growth_lab.local_cluster.layout import Layout

_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    b"Cache-Control: no-cache, private\r\n\r\n"
)
_LAST_CHUNK: Final = b"0\r\n\r\n"
_LIST_VERSION: Final = 1_000_000
# The same objects over and over would fit a processor's cache; a step that shares no factor with the count does not.
_STRIDE: Final = 7919


# Between list and events, so that a client can take its reading.
_PAUSE_SECONDS: Final = 0.5


class Source(Protocol):
    """Where the stand-in gets its objects from."""

    def listed(self, plural: str) -> Iterator[bytes]:
        """All objects of a kind."""
        ...

    def watched(self, plural: str, since: int) -> AsyncIterator[list[bytes]]:
        """Batches of watch events after that resource version; the stream stays open when they end."""
        ...

    def version(self) -> int:
        """The resource version that the list shows."""
        ...


class Large:
    """A large cluster that stands still, then goes through a fixed number of pod events."""

    def __init__(self, nodes: int, pods: int, events: int) -> None:
        self._nodes, self._pods, self._events = nodes, pods, events

    def listed(self, plural: str) -> Iterator[bytes]:
        if plural == "pods":
            return (pod(index, index + 1, self._nodes) for index in range(self._pods))
        if plural == "nodes":
            return (node(index, index + 1) for index in range(self._nodes))
        return iter(())

    async def watched(self, plural: str, since: int) -> AsyncIterator[list[bytes]]:  # noqa: ARG002 - one watch only
        """Of ten events six are changes of a status, two are pods that go, two are pods that take their place."""
        if plural != "pods":
            return
        await asyncio.sleep(_PAUSE_SECONDS)
        batch: list[bytes] = []
        replaced = 0
        for number in range(self._events):
            version = _LIST_VERSION + 1 + number
            index = number * _STRIDE % self._pods
            match number % 10:
                case 7 | 9:
                    batch.append(watch_event(b"ADDED", pod(self._pods + replaced, version, self._nodes)))
                    replaced += 1
                case 6 | 8:
                    batch.append(watch_event(b"DELETED", pod(index, version, self._nodes)))
                case _:
                    batch.append(watch_event(b"MODIFIED", pod(index, version, self._nodes)))
            if len(batch) == 50:
                yield batch
                batch = []
        if batch:
            yield batch

    def version(self) -> int:
        return _LIST_VERSION


def watch_event(kind: bytes, item: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind, item)


def _bookmark(version: int, *, ends_list: bool) -> bytes:
    annotations = b',"annotations":{"k8s.io/initial-events-end":"true"}' if ends_list else b""
    metadata = b'{"metadata":{"resourceVersion":"%d","creationTimestamp":null%s}}' % (version, annotations)
    return watch_event(b"BOOKMARK", metadata)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class StandIn:
    """Serves one source. ``cut`` breaks every connection, as a server that restarts does."""

    def __init__(self, source: Source, *, streams_lists: bool = True) -> None:
        self._source = source
        self._streams_lists = streams_lists
        self._pages: dict[str, Iterator[bytes]] = {}
        self._served: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    def cut(self) -> None:
        """Break every connection."""
        for writer in self._served:
            writer.transport.abort()

    async def end(self) -> None:
        """Break every connection and wait until nobody is being served."""
        for task in (served := list(self._served.values())):
            task.cancel()
        await asyncio.gather(*served)

    async def start(self, context: ssl.SSLContext) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._served[writer] = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if await self._answer(head.split(b" ", 2)[1].decode(), writer):
                    await reader.read()  # a watch stays open until the client goes
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass  # the client hung up, which is how it ends a watch
        except asyncio.CancelledError:
            pass  # ``end``, or the program's; asyncio's streams of Python 3.11 would print this as a mistake
        finally:
            del self._served[writer]
            writer.transport.abort()  # the client is gone; TLS would wait for its goodbye

    async def _answer(self, target: str, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; says whether it was a watch, whose answer has no end."""
        url = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        plural = url.path.rsplit("/", 1)[-1]
        if plural == "version":
            body = b'{"gitVersion":"v1.36.3-stand-in"}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return False
        if query.get("watch") not in ("true", "1", "True"):
            await self._list(plural, query, writer)
        elif "sendInitialEvents" in query and not self._streams_lists:
            body = b'{"kind":"Status","code":422,"reason":"Invalid","message":"sendInitialEvents is forbidden"}'
            writer.write(b"HTTP/1.1 422 Unprocessable\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            since = None if "sendInitialEvents" in query else int(query.get("resourceVersion", "0"))
            await self._watch(plural, since, writer)
            return True
        return False

    async def _list(self, plural: str, query: dict[str, str], writer: asyncio.StreamWriter) -> None:
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "0")) or sys.maxsize
        if start == 0:
            self._pages[plural] = self._source.listed(plural)
        items = self._pages[plural]
        writer.write(_HEAD + _chunk(b'{"kind":"List","apiVersion":"v1","items":['))
        count = 0
        for item in items:
            writer.write(_chunk(item if count == 0 else b"," + item))
            count += 1
            if count == limit:
                break
            if count % 50 == 0:
                await writer.drain()
        token = b',"continue":"%d"' % (start + count) if count == limit else b""
        metadata = b'],"metadata":{"resourceVersion":"%d"%s}}' % (self._source.version(), token)
        writer.write(_chunk(metadata) + _LAST_CHUNK)
        await writer.drain()

    async def _watch(self, plural: str, since: int | None, writer: asyncio.StreamWriter) -> None:
        writer.write(_HEAD)
        if since is None:
            since = self._source.version()  # before the list, so that what happens meanwhile follows as a change
            for count, item in enumerate(self._source.listed(plural)):
                writer.write(_chunk(watch_event(b"ADDED", item)))
                if count % 50 == 0:
                    await writer.drain()
            writer.write(_chunk(_bookmark(since, ends_list=True)))
        async for batch in self._source.watched(plural, since):
            writer.write(b"".join(map(_chunk, batch)))
            await writer.drain()
            if writer.is_closing():
                return


async def listen(virtual_pod: StandIn, folder: Path) -> tuple[asyncio.Server, Path]:
    """Serve on a free port with certificates of its own; returns the kubeconfig that leads there, too."""
    layout = Layout(folder / "stand-in")
    write_certificates(layout)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(layout.certificate("server"), layout.key("server"))
    server = await virtual_pod.start(context)
    write(layout.kubeconfig, with_certificate(layout, server.sockets[0].getsockname()[1], "admin"))
    return server, layout.kubeconfig


async def serve(virtual_pod: StandIn, folder: Path) -> None:
    """Serve until standard input ends; the kubeconfig's path is the first and only line of output."""
    server, kubeconfig = await listen(virtual_pod, folder)
    print(kubeconfig, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    server.close()
    await virtual_pod.end()


@contextmanager
def running(nodes: int, pods: int, events: int = 0, *, pages_only: bool = False) -> Generator[str]:
    """A stand-in as a process of its own, for as long as the context lasts; gives the path of its kubeconfig."""
    arguments = ["--nodes", str(nodes), "--pods", str(pods), "--events", str(events)]
    command = [sys.executable, "-m", "bench.standin", *arguments, *(["--pages-only"] if pages_only else [])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip() if server.stdout else ""
        finally:
            server.communicate()  # the end of its standard input is the end of the stand-in


def main() -> None:
    """Run as a program, so that its CPU time is not the client's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--pages-only", action="store_true", help="refuse streamed lists, as older servers do")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="growth-standin-") as folder:
        source = Large(options.nodes, options.pods, options.events)
        asyncio.run(serve(StandIn(source, streams_lists=not options.pages_only), Path(folder)))


if __name__ == "__main__":
    main()
