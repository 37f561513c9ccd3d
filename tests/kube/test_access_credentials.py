"""Who we are: certificates, tokens and token files, what is refused, and what happens after a 401."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from growth.kube.access import BadAccess, access_from_kubeconfig
from growth.kube.certificates import ClientCertificate, day
from growth.kube.credentials import (
    REREAD_SECONDS,
    Credentials,
    RequestCredentials,
    StaticCredentials,
    anonymous,
    bearer,
)
from growth.kube.kubeconfig import User
from tests.kube.kubeconfigs import TODAY, YEAR, a_certificate, a_jwt, a_kubeconfig, b64, write

AUTHORITY = a_certificate("ca")
ALICE = a_certificate("alice", issuer=AUTHORITY)
BOB = a_certificate("bob", issuer=AUTHORITY)
ENDED = TODAY - YEAR / 2
EXPIRED = a_certificate("alice", issuer=AUTHORITY, ends=ENDED)
EARLY = a_certificate("alice", issuer=AUTHORITY, starts=TODAY + YEAR / 2)
CERTIFICATE = ClientCertificate(ALICE.pem, ALICE.key_pem)
USER = "kubeconfig ~/config, users[alice].user"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def credentials(home: Path, user: dict[str, object]) -> Credentials:
    return access_from_kubeconfig(write(home / "config", a_kubeconfig(user=user))).credentials


def certificate_data(pem: bytes, key: bytes) -> dict[str, object]:
    return {"client-certificate-data": b64(pem), "client-key-data": b64(key)}


def authorization(presented: RequestCredentials) -> str:
    return presented.headers["Authorization"]


@pytest.mark.parametrize(
    ("user", "presented"),
    [
        pytest.param({}, RequestCredentials(), id="a user without anything is anonymous"),
        pytest.param({"token": "opaque"}, RequestCredentials({"Authorization": "Bearer opaque"}), id="a token"),
        pytest.param(
            {"tokenFile": "token", "token": "other"},
            RequestCredentials({"Authorization": "Bearer from-file"}),
            id="a token file wins over a token",
        ),
        pytest.param(
            {"token": "opaque", "exec": {"command": "never-run"}},
            RequestCredentials({"Authorization": "Bearer opaque"}),
            id="a token wins over a plugin",
        ),
        pytest.param(
            certificate_data(ALICE.pem, ALICE.key_pem),
            RequestCredentials(certificate=CERTIFICATE),
            id="certificate data",
        ),
        pytest.param(
            {"client-certificate": "alice.crt", "client-key": "alice.key"},
            RequestCredentials(certificate=CERTIFICATE),
            id="certificate files beside the kubeconfig",
        ),
        pytest.param(
            {"client-certificate": "gone.crt", "client-key": "gone.key"} | certificate_data(ALICE.pem, ALICE.key_pem),
            RequestCredentials(certificate=CERTIFICATE),
            id="data wins over files",
        ),
        pytest.param(
            {"token": "opaque"} | certificate_data(ALICE.pem, ALICE.key_pem),
            RequestCredentials({"Authorization": "Bearer opaque"}, CERTIFICATE),
            id="a certificate goes along with a token",
        ),
        pytest.param(
            {"username": "alice", "password": "x", "token": "opaque"},
            RequestCredentials({"Authorization": "Bearer opaque"}),
            id="a forgotten password beside a token does no harm",
        ),
    ],
)
async def test_a_user_presents(home: Path, user: dict[str, object], presented: RequestCredentials) -> None:
    write(home / "token", "from-file\n")
    write(home / "alice.crt", ALICE.pem)
    write(home / "alice.key", ALICE.key_pem)
    assert await credentials(home, user).current() == presented


async def test_a_context_without_a_user_is_anonymous(home: Path) -> None:
    config = a_kubeconfig(context={"cluster": "dev"})
    access = access_from_kubeconfig(write(home / "config", config))
    assert await access.credentials.current() == await anonymous().current() == RequestCredentials()


@pytest.mark.parametrize(
    ("user", "message"),
    [
        pytest.param(
            certificate_data(EXPIRED.pem, EXPIRED.key_pem),
            f"{USER}.client-certificate-data: the client certificate of user alice expired on {day(ENDED)}; renew it "
            "or take a kubeconfig that is still valid",
            id="an expired certificate",
        ),
        pytest.param(
            certificate_data(ALICE.pem, BOB.key_pem),
            f"{USER}.client-key-data: the key does not belong to the client certificate of user alice; take "
            "certificate and key from the same source",
            id="somebody else's key",
        ),
        pytest.param(
            certificate_data(ALICE.pem, ALICE.locked_key_pem),
            f"{USER}.client-key-data: the key is encrypted, expected one without a passphrase; decrypt it, for example "
            "with `openssl pkey`",
            id="a locked key",
        ),
        pytest.param(
            certificate_data(ALICE.pem, b"no key"),
            f"{USER}.client-key-data: this is no private key (6 bytes), expected PEM; put the key of the client "
            "certificate there",
            id="a key that is none",
        ),
        pytest.param(
            certificate_data(b"no certificate", ALICE.key_pem),
            f"{USER}.client-certificate-data: this is no certificate (14 bytes), expected PEM; put the user's "
            "certificate there",
            id="a certificate that is none",
        ),
        pytest.param(
            {"client-certificate-data": "*", "client-key": "x"},
            f"{USER}.client-certificate-data: this is not base64 (1 characters); encode the PEM file with `base64 "
            "-w0`, or name it in client-certificate",
            id="a certificate that is not base64",
        ),
        pytest.param(
            {"client-certificate-data": b64(ALICE.pem)},
            f"{USER}.client-key: it is missing beside the client certificate; add the key",
            id="a certificate without its key",
        ),
        pytest.param(
            {"client-key-data": b64(ALICE.key_pem)},
            f"{USER}.client-certificate: it is missing beside the key; add the certificate",
            id="a key without its certificate",
        ),
        pytest.param(
            {"client-certificate": "alice.crt", "client-key": "alice.key"},
            f"{USER}.client-certificate: there is no file ~/alice.crt; correct the path (relative ones start at the "
            "kubeconfig's folder)",
            id="a certificate file that is gone",
        ),
        pytest.param(
            {"token": a_jwt(exp=ENDED.timestamp())},
            f"{USER}.token: the token expired on {day(ENDED)}; renew it, or log in again where it came from",
            id="an expired token",
        ),
        pytest.param(
            {"token": "two words"},
            f"{USER}.token: the token (9 characters) has blanks, line breaks or special characters inside; paste it "
            "again in one piece",
            id="a token that was torn apart",
        ),
        pytest.param(
            {"tokenFile": "gone"},
            f"{USER}.tokenFile: there is no file ~/gone; correct the path (relative ones start at the kubeconfig's "
            "folder)",
            id="a token file that is gone",
        ),
        pytest.param(
            {"tokenFile": "empty"},
            f"{USER}.tokenFile: the token is empty; put the user's token there",
            id="an empty token file",
        ),
        pytest.param(
            {"tokenFile": "binary"},
            f"{USER}.tokenFile: ~/binary holds no token, expected one line of ASCII; correct the path (relative ones "
            "start at the kubeconfig's folder)",
            id="a token file that holds something else",
        ),
        pytest.param(
            {"username": "alice", "password": "hunter2"},
            f"{USER}.username: basic authentication was removed in Kubernetes 1.19; use a token, a client certificate "
            "or an exec plugin instead",
            id="basic authentication",
        ),
        pytest.param(
            {"auth-provider": {"name": "gcp"}},
            f"{USER}.auth-provider: auth-provider was removed in Kubernetes 1.26; use the provider's exec plugin "
            "instead",
            id="an auth-provider",
        ),
        pytest.param(
            {"token": "opaque", "as": "viewer"},
            f"{USER}.as: impersonation is not supported, and leaving it out would act with other rights than asked "
            "for; make a user or service account with just these rights",
            id="impersonation",
        ),
    ],
)
def test_a_wrong_user_is_told_in_one_sentence(home: Path, user: dict[str, object], message: str) -> None:
    write(home / "empty", "\n")
    write(home / "binary", b"\xff\xfe")
    with pytest.raises(BadAccess) as caught:
        credentials(home, user)
    assert str(caught.value) == message


def test_a_certificate_of_the_future_makes_one_look_at_the_clock(home: Path) -> None:
    with pytest.raises(BadAccess) as caught:
        credentials(home, certificate_data(EARLY.pem, EARLY.key_pem))
    assert caught.value.problem == (f"the client certificate of user alice is not valid before {day(TODAY + YEAR / 2)}")
    assert caught.value.next_step.startswith("check this machine's clock, which says 20")


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(a_jwt(exp=(TODAY + YEAR).timestamp()), id="a valid JWT"),
        pytest.param(a_jwt(sub="alice"), id="a JWT without an end"),
        pytest.param(a_jwt(exp="soon"), id="a JWT with an odd end"),
        pytest.param(a_jwt(exp=1e300), id="a JWT with an endless end"),
        pytest.param("a.b.c", id="three words that are no JWT"),
        pytest.param("sha256~x.y", id="an opaque token"),
    ],
)
def test_only_the_server_judges_a_token_that_is_not_clearly_expired(token: str) -> None:
    assert authorization(bearer(token, "here")) == f"Bearer {token}"


@pytest.mark.parametrize("kind", ["presented", "certificate", "kubeconfig user"])
async def test_no_secret_reaches_a_log(home: Path, kind: str) -> None:
    presented = await credentials(home, {"token": "hunter2"} | certificate_data(ALICE.pem, ALICE.key_pem)).current()
    text = {"presented": repr(presented), "certificate": repr(CERTIFICATE), "kubeconfig user": repr(User(token="x7"))}
    assert not any(secret in text[kind] for secret in ("hunter2", "PRIVATE", "x7"))


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_a_rotated_token_file_is_read_at_the_next_request(home: Path) -> None:
    path = write(home / "token", "first")
    found = credentials(home, {"tokenFile": str(path)})
    assert authorization(await found.current()) == "Bearer first"
    write(home / "new", "second").replace(path)
    assert authorization(await found.current()) == "Bearer second"


async def test_a_rotated_certificate_is_read_at_the_next_request(home: Path) -> None:
    certificate, key = write(home / "tls.crt", ALICE.pem), write(home / "tls.key", ALICE.key_pem)
    found = credentials(home, {"client-certificate": "tls.crt", "client-key": "tls.key"})
    first = await found.current()
    write(certificate, BOB.pem)
    assert await found.current() == first, "between two writes the halves do not match: the old pair stays"
    write(key, BOB.key_pem)
    assert (await found.current()).certificate == ClientCertificate(BOB.pem, BOB.key_pem)


async def test_a_file_whose_time_did_not_change_is_read_again_after_a_minute(home: Path) -> None:
    clock, path = Clock(), write(home / "token", "1st")
    found = StaticCredentials(lambda: bearer(path.read_text(), "here"), [path], clock)
    before = path.stat()
    write(path, "2nd")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    clock.seconds = REREAD_SECONDS - 1
    assert authorization(await found.current()) == "Bearer 1st"
    clock.seconds = REREAD_SECONDS
    assert authorization(await found.current()) == "Bearer 2nd"


async def test_unchanged_files_are_not_read_again(home: Path) -> None:
    reads: list[str] = []
    path = write(home / "token", "first")

    def read() -> RequestCredentials:
        reads.append(path.read_text())
        return bearer(reads[-1], "here")

    found = StaticCredentials(read, [path], Clock())
    for _ in range(5):
        await found.current()
    assert reads == ["first"]


async def test_a_file_missing_in_the_middle_of_a_rotation_stops_nothing_until_the_server_refuses(home: Path) -> None:
    path = write(home / "token", "first")
    found = credentials(home, {"tokenFile": "token"})
    path.unlink()
    assert authorization(await found.current()) == "Bearer first"
    found.refuse()
    with pytest.raises(BadAccess, match="there is no file ~/token"):
        await found.current()
    write(path, "second")
    assert authorization(await found.current()) == "Bearer second"


async def test_after_a_401_a_token_that_ended_meanwhile_is_told() -> None:
    tokens = [a_jwt(exp=(TODAY + YEAR).timestamp()), a_jwt(exp=(TODAY - timedelta(minutes=1)).timestamp())]
    found = StaticCredentials(lambda: bearer(tokens.pop(0), "users[alice].user.token"))
    await found.current()
    found.refuse(await found.current())
    with pytest.raises(BadAccess, match="the token expired on"):
        await found.current()


async def test_a_late_401_does_not_forget_what_was_read_since() -> None:
    tokens = ["first", "second", "third"]
    found = StaticCredentials(lambda: bearer(tokens.pop(0), "here"))
    old = await found.current()
    found.refuse(old)
    assert authorization(await found.current()) == "Bearer second"
    found.refuse(old)
    assert authorization(await found.current()) == "Bearer second"
