"""Connections: sessions of old certificates are given back, sockets notice a dead peer."""

import asyncio
import socket
from pathlib import Path

from growth.kube.access import Access, access_from_kubeconfig
from growth.kube.credentials import RequestCredentials
from growth.kube.http import Sessions, watchful_socket
from growth_lab.local_cluster.certificates import write_certificates
from growth_lab.local_cluster.kubeconfig import with_certificate, write
from growth_lab.local_cluster.layout import Layout


async def an_identity(folder: Path) -> tuple[Access, RequestCredentials]:
    layout = Layout(folder)
    write_certificates(layout)
    write(layout.kubeconfig, with_certificate(layout, 1, "admin"))
    access = access_from_kubeconfig(layout.kubeconfig)
    return access, await access.credentials.current()


async def test_the_same_certificate_keeps_its_session(tmp_path: Path) -> None:
    sessions = Sessions()
    identity = await an_identity(tmp_path / "one")
    assert sessions.for_(*identity) is sessions.for_(*identity)
    await sessions.close()


async def test_only_the_session_before_the_current_one_is_kept(tmp_path: Path) -> None:
    sessions = Sessions()
    made = [sessions.for_(*await an_identity(tmp_path / name)) for name in ("one", "two", "three")]
    await asyncio.sleep(0)
    assert [session.closed for session in made] == [True, False, False]
    await sessions.close()
    assert all(session.closed for session in made)


def test_a_socket_notices_when_the_other_end_is_gone() -> None:
    with watchful_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1))) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 60
        assert 0 < made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 60_000
