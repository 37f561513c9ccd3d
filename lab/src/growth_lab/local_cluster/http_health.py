"""Asking a component how it is: one GET, yes or no. Every failure is a no, since the next question comes at once."""

import asyncio
import contextlib
import ssl

from growth_lab.local_cluster.components import Health
from growth_lab.local_cluster.layout import Layout

_TIMEOUT_SECONDS = 2.0


def admin_tls(layout: Layout) -> ssl.SSLContext:
    """Trust this cluster's authority only, and be its administrator."""
    context = ssl.create_default_context(cafile=str(layout.certificate("ca")))
    context.load_cert_chain(layout.certificate("admin"), layout.key("admin"))
    return context


async def is_well(health: Health, tls: ssl.SSLContext) -> bool:
    """Whether it answers 200 within two seconds."""
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await _status(health, tls) == 200
    except (OSError, TimeoutError, ValueError):
        return False


async def _status(health: Health, tls: ssl.SSLContext) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", health.port, ssl=tls if health.is_tls else None)
    try:
        writer.write(f"GET {health.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        protocol, _, rest = (await reader.readline()).decode("latin-1").partition(" ")
        return int(rest.split()[0]) if protocol.startswith("HTTP/") else 0
    except IndexError:
        return 0
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            await writer.wait_closed()
