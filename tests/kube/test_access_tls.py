"""Whom the TLS context trusts and what it shows, in real handshakes."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from growth.kube.access import Access, access_from_kubeconfig
from growth.kube.credentials import RequestCredentials
from growth.kube.tls import ssl_context
from tests.kube.kubeconfigs import Pair, a_certificate, a_kubeconfig, b64, write

AUTHORITY = a_certificate("ca")
STRANGER = a_certificate("another-ca")
SERVER = a_certificate("kube-apiserver", issuer=AUTHORITY)
ALICE = a_certificate("alice", issuer=AUTHORITY)


def an_access(folder: Path, cluster: dict[str, object], user: dict[str, object] | None = None) -> Access:
    fields = {"server": "https://127.0.0.1"} | cluster
    return access_from_kubeconfig(write(folder / "config", a_kubeconfig(cluster=fields, user=user)))


@asynccontextmanager
async def a_server(folder: Path, pair: Pair = SERVER) -> AsyncGenerator[int]:
    """A server that asks for a certificate, as the API server does, and answers with the name in it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=AUTHORITY.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(write(folder / "server.pem", pair.key_pem + pair.pem))

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = cast("dict[str, tuple[tuple[tuple[str, str]]]]", writer.get_extra_info("peercert") or {})
        writer.write(peer["subject"][0][0][1].encode() if peer else b"nobody")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def who_am_i(access: Access, port: int, name: str = "127.0.0.1") -> str:
    context = ssl_context(access, await access.credentials.current())
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    seen = await reader.read()
    writer.close()
    await writer.wait_closed()
    return seen.decode()


async def test_the_clusters_own_authority_is_trusted(tmp_path: Path) -> None:
    access = an_access(tmp_path, {"certificate-authority-data": b64(AUTHORITY.pem)})
    async with a_server(tmp_path) as port:
        assert await who_am_i(access, port) == "nobody"


async def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    user: dict[str, object] = {"client-certificate-data": b64(ALICE.pem), "client-key-data": b64(ALICE.key_pem)}
    access = an_access(tmp_path, {"certificate-authority-data": b64(AUTHORITY.pem)}, user)
    async with a_server(tmp_path) as port:
        assert await who_am_i(access, port) == "alice"


async def test_a_server_of_another_authority_is_refused(tmp_path: Path) -> None:
    access = an_access(tmp_path, {"certificate-authority-data": b64(STRANGER.pem)})
    async with a_server(tmp_path) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await who_am_i(access, port)


async def test_without_an_authority_the_systems_are_trusted_and_a_private_one_is_refused(tmp_path: Path) -> None:
    async with a_server(tmp_path) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await who_am_i(an_access(tmp_path, {}), port)


async def test_the_name_in_the_servers_certificate_is_checked(tmp_path: Path) -> None:
    access = an_access(tmp_path, {"certificate-authority-data": b64(AUTHORITY.pem), "tls-server-name": "cluster.test"})
    async with a_server(tmp_path) as port:
        assert await who_am_i(access, port, str(access.tls_server_name)) == "nobody"
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            await who_am_i(access, port, "other.test")


async def test_verification_can_be_turned_off(tmp_path: Path) -> None:
    access = an_access(tmp_path, {"insecure-skip-tls-verify": True})
    async with a_server(tmp_path, a_certificate("unknown")) as port:
        assert await who_am_i(access, port, "other.test") == "nobody"


async def test_an_authority_without_key_identifiers_or_root_is_enough_as_for_kubectl(tmp_path: Path) -> None:
    access = an_access(tmp_path, {"certificate-authority-data": b64(SERVER.pem)})  # not even a CA: pinned
    context = ssl_context(access, RequestCredentials())
    assert context.verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    async with a_server(tmp_path) as port:
        assert await who_am_i(access, port) == "nobody"


async def test_no_key_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user: dict[str, object] = {"client-certificate-data": b64(ALICE.pem), "client-key-data": b64(ALICE.key_pem)}
    access = an_access(tmp_path / "kube", {}, user)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    ssl_context(access, await access.credentials.current())
    assert list_of(tmp_path / "scratch") == []


def list_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())
