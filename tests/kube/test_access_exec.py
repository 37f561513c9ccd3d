"""Credentials that a program prints, with real programs."""

import asyncio
import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from growth.kube.access import BadAccess, access_from_kubeconfig
from growth.kube.certificates import ClientCertificate, day
from growth.kube.credentials import Credentials, RequestCredentials
from growth.kube.exec_plugin import MARGIN, PLUGIN_SECONDS, ExecCredentials, ExecPlugin, run_plugin
from tests.kube.kubeconfigs import (
    TODAY,
    YEAR,
    a_certificate,
    a_jwt,
    a_kubeconfig,
    a_plugin,
    an_answer,
    an_exec_user,
    b64,
    write,
)

AUTHORITY = a_certificate("ca")
ALICE = a_certificate("alice", issuer=AUTHORITY)
BOB = a_certificate("bob", issuer=AUTHORITY)
ENDED = TODAY - YEAR / 2
EXPIRED = a_certificate("alice", issuer=AUTHORITY, ends=ENDED)
USER = "kubeconfig ~/config, users[alice].user.exec"
BY_HAND = "run ~/plugin by hand, it should print an ExecCredential"
PRINTS_A_NEW_TOKEN_EACH_TIME = """
    with open(__file__ + ".runs", "a") as runs:
        runs.write("run\\n")
        count = runs.tell() // 4
    answer = json.loads(os.environ["ANSWER"])
    answer["status"]["token"] = f"token-{count}"
    print(json.dumps(answer))
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def credentials(home: Path, user: dict[str, object], cluster: dict[str, object] | None = None) -> Credentials:
    return access_from_kubeconfig(write(home / "config", a_kubeconfig(user=user, cluster=cluster))).credentials


def printing(home: Path, answer: dict[str, object] | str) -> Path:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return a_plugin(home / "plugin", f"print({text!r}, end='')")


def plugin_at(program: Path, environment: dict[str, str] | None = None, seconds: float = PLUGIN_SECONDS) -> ExecPlugin:
    version, where = "client.authentication.k8s.io/v1", "users[alice].user.exec"
    return ExecPlugin(str(program), [], environment or {}, version, "", where, "user alice", seconds)


def a_counting_plugin(home: Path, answer: dict[str, object]) -> ExecPlugin:
    program = a_plugin(home / "plugin", PRINTS_A_NEW_TOKEN_EACH_TIME)
    return plugin_at(program, {"ANSWER": json.dumps(answer)})


async def present(found: Credentials) -> RequestCredentials:
    return await found.current()


def token(presented: RequestCredentials) -> str:
    return presented.headers["Authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_plugin_gives_a_token(home: Path, version: str) -> None:
    plugin = printing(home, an_answer(version=version, token="from-plugin"))
    found = credentials(home, an_exec_user(plugin, version=version))
    assert await found.current() == RequestCredentials({"Authorization": "Bearer from-plugin"})


async def test_a_plugin_gives_a_certificate(home: Path) -> None:
    pair = {"clientCertificateData": ALICE.pem.decode(), "clientKeyData": ALICE.key_pem.decode()}
    found = credentials(home, an_exec_user(printing(home, an_answer(**pair))))
    assert await found.current() == RequestCredentials(certificate=ClientCertificate(ALICE.pem, ALICE.key_pem))


async def test_the_kubeconfigs_certificate_goes_along_with_a_plugins_token(home: Path) -> None:
    user = an_exec_user(printing(home, an_answer(token="from-plugin")))
    user |= {"client-certificate-data": b64(BOB.pem), "client-key-data": b64(BOB.key_pem)}
    presented = await credentials(home, user).current()
    assert presented.certificate == ClientCertificate(BOB.pem, BOB.key_pem)
    assert token(presented) == "from-plugin"


def test_a_plugin_gets_its_arguments_and_environment_and_the_cluster_if_it_asks(home: Path) -> None:
    plugin = a_plugin(
        home / "bin" / "plugin",
        """
        seen = {"args": sys.argv[1:], "region": os.environ["REGION"], "home": os.environ["HOME"]}
        seen["info"] = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
        with open(__file__ + ".seen", "w") as file:
            json.dump(seen, file)
        print(json.dumps(seen["info"] | {"status": {"token": "t"}}))
        """,
    )
    env = [{"name": "REGION", "value": "fsn1"}]
    user = an_exec_user("bin/plugin", {"args": ["get", "token"], "env": env, "provideClusterInfo": True})
    cluster: dict[str, object] = {
        "server": "https://10.0.0.1:6443",
        "certificate-authority-data": b64(AUTHORITY.pem),
        "tls-server-name": "cluster.test",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "growth"}}],
    }
    asyncio.run(present(credentials(home, user, cluster)))
    assert json.loads(Path(f"{plugin}.seen").read_text()) == {
        "args": ["get", "token"],
        "region": "fsn1",
        "home": str(home),
        "info": {
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "spec": {
                "interactive": False,
                "cluster": {
                    "server": "https://10.0.0.1:6443",
                    "certificate-authority-data": b64(AUTHORITY.pem),
                    "tls-server-name": "cluster.test",
                    "config": {"audience": "growth"},
                },
            },
        },
    }


async def test_a_bare_command_is_found_in_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printing(home, an_answer(token="from-path"))
    monkeypatch.setenv("PATH", str(home), prepend=os.pathsep)
    assert token(await credentials(home, an_exec_user("plugin")).current()) == "from-path"


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = TODAY

    def __call__(self) -> datetime:
        return self.now


async def test_an_answer_is_kept_until_shortly_before_it_expires(home: Path) -> None:
    clock, life = Clock(), timedelta(hours=1)
    plugin = a_counting_plugin(home, an_answer(expirationTimestamp=(TODAY + life).isoformat()))
    found = ExecCredentials(plugin, None, clock)
    assert [token(await found.current()) for _ in range(3)] == ["token-1"] * 3
    clock.now = TODAY + life - MARGIN - timedelta(seconds=1)
    assert token(await found.current()) == "token-1"
    clock.now = TODAY + life - MARGIN
    assert token(await found.current()) == "token-2"


async def test_a_short_lived_answer_is_not_renewed_at_every_request(home: Path) -> None:
    clock, life = Clock(), timedelta(seconds=40)
    plugin = a_counting_plugin(home, an_answer(expirationTimestamp=(TODAY + life).isoformat()))
    found = ExecCredentials(plugin, None, clock)
    await found.current()
    clock.now = TODAY + timedelta(seconds=29)
    assert token(await found.current()) == "token-1"
    clock.now = TODAY + timedelta(seconds=30)
    assert token(await found.current()) == "token-2"


async def test_an_answer_without_an_end_is_kept_until_the_server_refuses_it(home: Path) -> None:
    clock = Clock()
    found = ExecCredentials(a_counting_plugin(home, an_answer()), None, clock)
    first = await found.current()
    clock.now = TODAY + 10 * YEAR
    assert token(await found.current()) == "token-1"
    found.refuse(first)
    assert token(await found.current()) == "token-2"
    found.refuse(first)  # a late answer to an old request
    assert token(await found.current()) == "token-2"
    found.refuse()
    assert token(await found.current()) == "token-3"


async def test_callers_share_one_run(home: Path) -> None:
    found = ExecCredentials(a_counting_plugin(home, an_answer()), None, Clock())
    presented = await asyncio.gather(*(found.current() for _ in range(20)))
    assert [token(one) for one in presented] == ["token-1"] * 20


async def test_a_caller_that_gives_up_does_not_take_the_run_from_the_others(home: Path) -> None:
    found = ExecCredentials(a_counting_plugin(home, an_answer()), None, Clock())
    first, second = asyncio.create_task(found.current()), asyncio.create_task(found.current())
    await asyncio.sleep(0)  # let both ask
    first.cancel()
    assert token(await second) == "token-1"
    assert first.cancelled()


async def test_a_failed_run_is_told_to_all_who_wait_and_tried_again_by_the_next(home: Path) -> None:
    program = a_plugin(home / "plugin", "sys.exit('not logged in')")
    found = credentials(home, an_exec_user(program))
    answers = await asyncio.gather(found.current(), found.current(), return_exceptions=True)
    assert [type(answer) for answer in answers] == [BadAccess, BadAccess]
    printing(home, an_answer(token="after-login"))
    assert token(await found.current()) == "after-login"


async def test_a_plugin_that_never_answers_is_given_up(home: Path) -> None:
    waits = a_plugin(home / "plugin", "import signal; signal.pause()")
    with pytest.raises(BadAccess) as caught:
        await run_plugin(plugin_at(waits, seconds=0.05))
    assert str(caught.value) == (
        "users[alice].user.exec: ~/plugin did not answer within 0.05 s; run it by hand to see what it waits for"
    )


@pytest.mark.parametrize("is_known", [True, False], ids=["while it runs", "before anybody knows that it runs"])
async def test_a_plugin_that_is_given_up_ends_with_its_children(
    home: Path, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    waits = """
        import signal
        alive = open(os.environ["HOME"] + "/alive", "w")
        if os.fork():
            print("up", file=alive, flush=True)
        signal.pause()
    """
    os.mkfifo(home / "alive")
    alive = asyncio.StreamReader()
    descriptor = os.open(home / "alive", os.O_RDONLY | os.O_NONBLOCK)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(alive), os.fdopen(descriptor)
    )
    told, start = asyncio.Event(), asyncio.create_subprocess_exec

    async def start_slowly(*command: Any, **how: Any) -> asyncio.subprocess.Process:  # noqa: ANN401
        process = await start(*command, **how)
        await told.wait()
        return process

    if not is_known:
        monkeypatch.setattr(asyncio, "create_subprocess_exec", start_slowly)
    run = asyncio.create_task(run_plugin(plugin_at(a_plugin(home / "plugin", waits))))
    async with asyncio.timeout(20):
        assert await alive.readline() == b"up\n"
        run.cancel()
        await asyncio.sleep(0)
        told.set()
        with pytest.raises(asyncio.CancelledError):
            await run
        everything_until_the_last_writer_is_gone = await alive.read()
    assert everything_until_the_last_writer_is_gone == b""
    transport.close()


def certificate_answer(pem: bytes, key: bytes) -> dict[str, object]:
    return an_answer(clientCertificateData=pem.decode(), clientKeyData=key.decode())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            "Please log in: hunter2",
            f"{USER}: ~/plugin printed 22 bytes that are no ExecCredential (JSON is malformed: invalid character (byte "
            f"0)); {BY_HAND}",
            id="words instead of JSON, which are not repeated",
        ),
        pytest.param(
            "",
            f"{USER}: ~/plugin printed 0 bytes that are no ExecCredential (Input data was truncated); {BY_HAND}",
            id="nothing",
        ),
        pytest.param(
            an_answer(token=["x"]),
            f"{USER}: ~/plugin printed 103 bytes that are no ExecCredential (Expected `str`, got `array` - at "
            f"`$.status.token`); {BY_HAND}",
            id="a field of the wrong type",
        ),
        pytest.param(
            an_answer(version="v1beta1", token="x"),
            f"{USER}: ~/plugin printed kind 'ExecCredential' of 'client.authentication.k8s.io/v1beta1', expected an "
            "ExecCredential of client.authentication.k8s.io/v1; correct exec.apiVersion to what this version of the "
            "plugin speaks",
            id="another version",
        ),
        pytest.param(
            an_answer(), f"{USER}: ~/plugin printed neither token nor certificate; {BY_HAND}", id="an empty status"
        ),
        pytest.param(
            an_answer(clientCertificateData="x"),
            f"{USER}: ~/plugin printed only one of clientCertificateData and clientKeyData; {BY_HAND}",
            id="half a certificate",
        ),
        pytest.param(
            an_answer(token="x", expirationTimestamp=ENDED.isoformat()),
            f"{USER}: ~/plugin answered with a credential that expired on {day(ENDED)}; log in again, or check this "
            "machine's clock",
            id="an expired answer",
        ),
        pytest.param(
            an_answer(token=a_jwt(exp=ENDED.timestamp())),
            f"{USER}, answer of ~/plugin: the token expired on {day(ENDED)}; renew it, or log in again where it came "
            "from",
            id="an expired token",
        ),
        pytest.param(
            certificate_answer(EXPIRED.pem, EXPIRED.key_pem),
            f"{USER}, answer of ~/plugin: the client certificate of user alice expired on {day(ENDED)}; renew it or "
            "take a kubeconfig that is still valid",
            id="an expired certificate",
        ),
        pytest.param(
            certificate_answer(ALICE.pem, BOB.key_pem),
            f"{USER}, answer of ~/plugin: the key does not belong to the client certificate of user alice; take "
            "certificate and key from the same source",
            id="a foreign key",
        ),
    ],
)
async def test_a_wrong_answer_is_told_in_one_sentence(
    home: Path, answer: dict[str, object] | str, message: str
) -> None:
    with pytest.raises(BadAccess) as caught:
        await credentials(home, an_exec_user(printing(home, answer))).current()
    assert str(caught.value) == message


def no_file(home: Path) -> Path:
    return home / "plugin"


def no_program(home: Path) -> Path:
    return write(home / "plugin", "just text")


def failing(home: Path) -> Path:
    return a_plugin(home / "plugin", "print('asking'); sys.stderr.write('warning\\nsession ended\\n\\n'); sys.exit(3)")


def failing_silently(home: Path) -> Path:
    return a_plugin(home / "plugin", "sys.exit(1)")


@pytest.mark.parametrize(
    ("program", "more", "message"),
    [
        pytest.param(
            no_file,
            {},
            f"{USER}: there is no program ~/plugin; install it or correct exec.command",
            id="a program that is not there",
        ),
        pytest.param(
            no_file,
            {"installHint": "Get it from\n  your cloud.\n"},
            f"{USER}: there is no program ~/plugin; Get it from your cloud.",
            id="its author's hint, in one line",
        ),
        pytest.param(
            no_program,
            {},
            f"{USER}: ~/plugin cannot be started (Permission denied); make it an executable program or correct "
            "exec.command",
            id="a file that is no program",
        ),
        pytest.param(
            failing,
            {},
            f"{USER}: ~/plugin exited with 3 (session ended); run it by hand, perhaps a login has ended",
            id="a failure, with its last line",
        ),
        pytest.param(
            failing_silently,
            {},
            f"{USER}: ~/plugin exited with 1 (it said nothing); run it by hand, perhaps a login has ended",
            id="a silent failure",
        ),
    ],
)
async def test_a_plugin_that_cannot_run_is_told_in_one_sentence(
    home: Path, program: Callable[[Path], Path], more: dict[str, object], message: str
) -> None:
    with pytest.raises(BadAccess) as caught:
        await credentials(home, an_exec_user(program(home), more)).current()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("user", "message"),
    [
        pytest.param(
            an_exec_user(""),
            f"{USER}.command: it is missing; name the program that prints credentials",
            id="no command",
        ),
        pytest.param(
            an_exec_user("aws", version="v1alpha1"),
            f"{USER}.apiVersion: it is 'client.authentication.k8s.io/v1alpha1', expected "
            "client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1; update the plugin and let it "
            "write its entry anew",
            id="a version that was removed",
        ),
        pytest.param(
            an_exec_user("kubelogin", {"interactiveMode": "Always"}),
            f"{USER}.interactiveMode: kubelogin must ask a person (interactiveMode Always), and nobody sits here; use "
            "a token or a certificate instead",
            id="a plugin that must ask a person",
        ),
    ],
)
def test_a_plugin_that_can_never_work_is_refused_at_once(home: Path, user: dict[str, object], message: str) -> None:
    with pytest.raises(BadAccess) as caught:
        credentials(home, user)
    assert str(caught.value) == message
