"""Credentials that a program prints: ``aws eks get-token``, ``gke-gcloud-auth-plugin``, ``kubelogin`` and the like.

The contract is client.authentication.k8s.io. We run as a service, so a plugin that must ask a person is refused, and
what it prints is never shown: it may hold a token.
"""

import asyncio
import base64
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from growth.kube.certificates import ClientCertificate, client_certificate, day
from growth.kube.credentials import RequestCredentials, bearer
from growth.kube.errors import BadAccess, shown
from growth.kube.kubeconfig import Cluster, ExecConfig, KubeconfigEntry, User

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
PLUGIN_SECONDS: Final = 60.0
"""How long a plugin may take: a cloud's slow token service answers within this, a forgotten prompt never does."""
MARGIN: Final = timedelta(seconds=60)
"""Renew this long before the end, so that no request is on its way with a credential that dies; a quarter of its life
if that is shorter, so that a short-lived one is not renewed at every request."""
CLUSTER_EXTENSION: Final = "client.authentication.k8s.io/exec"


class ExecPlugin(msgspec.Struct, frozen=True):
    """A program, ready to be run."""

    command: str
    arguments: list[str]
    environment: dict[str, str]
    api_version: str
    install_hint: str
    where: str
    owner: str
    seconds: float = PLUGIN_SECONDS

    @property
    def name(self) -> str:
        """The program as messages call it."""
        return shown(Path(self.command))


class ExecCredentials:
    """What the plugin answered, until shortly before it expires. Callers that come while it runs share that run."""

    def __init__(self, plugin: ExecPlugin, certificate: ClientCertificate | None, now: Callable[[], datetime]) -> None:
        self._plugin = plugin
        self._certificate = certificate
        self._now = now
        self._kept: RequestCredentials | None = None
        self._until: datetime | None = None
        self._run: asyncio.Task[RequestCredentials] | None = None

    async def current(self) -> RequestCredentials:
        """The kept answer, or a new one."""
        if self._kept is not None and (self._until is None or self._now() < self._until):
            return self._kept
        if self._run is None:
            self._run = asyncio.create_task(self._ask(), name=f"exec plugin {self._plugin.command}")
            self._run.add_done_callback(self._ended)
        return await asyncio.shield(self._run)  # one caller giving up does not take it from the others

    def refuse(self, presented: RequestCredentials | None = None) -> None:
        """Run the plugin at the next request."""
        if presented is None or presented == self._kept:
            self._kept = None

    def _ended(self, run: "asyncio.Task[RequestCredentials]") -> None:
        self._run = None
        if not run.cancelled():
            run.exception()  # seen: each caller got it from the task, and there may be none left

    async def _ask(self) -> RequestCredentials:
        output = await run_plugin(self._plugin)
        presented, expires = presented_from(output, self._plugin, self._certificate, self._now())
        self._kept = presented
        self._until = expires and expires - min(MARGIN, (expires - self._now()) / 4)
        return presented


def exec_plugin_in(
    user: KubeconfigEntry[User], config: ExecConfig, info: Callable[[], dict[str, object]]
) -> ExecPlugin:
    """The plugin that a kubeconfig describes; ``info`` gives the cluster, if the plugin wants to know it."""
    if not config.command:
        raise BadAccess(user.where("exec", "command"), "it is missing", "name the program that prints credentials")
    if config.api_version not in API_VERSIONS:
        problem = f"it is {config.api_version!r}, expected {' or '.join(API_VERSIONS)}"
        raise BadAccess(user.where("exec", "apiVersion"), problem, "update the plugin and let it write its entry anew")
    if config.interactive_mode == "Always":
        problem = f"{config.command} must ask a person (interactiveMode Always), and nobody sits here"
        raise BadAccess(user.where("exec", "interactiveMode"), problem, "use a token or a certificate instead")
    spec: dict[str, object] = {"interactive": False}
    if config.provide_cluster_info:
        spec["cluster"] = info()
    request = {"kind": "ExecCredential", "apiVersion": config.api_version, "spec": spec}
    return ExecPlugin(
        # As kubectl resolves it: a bare name from PATH, a path from the kubeconfig's folder.
        command=str(user.path(config.command)) if os.sep in config.command else config.command,
        arguments=config.args,
        environment={variable.name: variable.value for variable in config.env}
        | {"KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode()},
        api_version=config.api_version,
        install_hint=" ".join(config.install_hint.split()),
        where=user.where("exec"),
        owner=f"user {user.name}",
    )


def cluster_info(cluster: Cluster, ca: bytes | None) -> dict[str, object]:
    """The cluster as plugins are told about it."""
    config = next((e.extension for e in cluster.extensions if e.name == CLUSTER_EXTENSION), None)
    fields: dict[str, object] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(ca).decode() if ca else "",
        "proxy-url": cluster.proxy_url,
        "config": config,
    }
    return {name: value for name, value in fields.items() if value}


async def run_plugin(plugin: ExecPlugin) -> bytes:
    """What the program prints, in a process group of its own so that nothing of it outlives the time-out."""
    try:
        process = await _started(plugin)
    except FileNotFoundError as error:
        step = plugin.install_hint or "install it or correct exec.command"
        raise BadAccess(plugin.where, f"there is no program {plugin.name}", step) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problem = f"{plugin.name} cannot be started ({reason})"
        raise BadAccess(plugin.where, problem, "make it an executable program or correct exec.command") from error
    try:
        async with asyncio.timeout(plugin.seconds):
            output, complaint = await process.communicate()
    except TimeoutError as error:
        problem = f"{plugin.name} did not answer within {plugin.seconds:g} s"
        raise BadAccess(plugin.where, problem, "run it by hand to see what it waits for") from error
    finally:
        await _end(process)
    if process.returncode != 0:
        lines = complaint.decode("utf-8", "replace").split("\n")
        last = next((line.strip()[:300] for line in reversed(lines) if line.strip()), "it said nothing")
        problem = f"{plugin.name} exited with {process.returncode} ({last})"
        raise BadAccess(plugin.where, problem, "run it by hand, perhaps a login has ended")
    return output


async def _started(plugin: ExecPlugin) -> Process:
    """The running program. Whoever gives up before it is known waits for that: only then its children end with it."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            env=os.environ | plugin.environment,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await _end(await starting)
        raise


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, rename="camel"):
    kind: str
    api_version: str
    status: _Status


def presented_from(
    output: bytes, plugin: ExecPlugin, certificate: ClientCertificate | None, now: datetime
) -> tuple[RequestCredentials, datetime | None]:
    """What a plugin's answer lets us present, and until when."""
    step = f"run {plugin.name} by hand, it should print an ExecCredential"
    try:
        answer = msgspec.json.decode(output, type=_Answer)
    except msgspec.MsgspecError as error:
        problem = f"{plugin.name} printed {len(output)} bytes that are no ExecCredential ({error})"
        raise BadAccess(plugin.where, problem, step) from error
    if (answer.kind, answer.api_version) != ("ExecCredential", plugin.api_version):
        problem = (
            f"{plugin.name} printed kind {answer.kind!r} of {answer.api_version!r}, "
            f"expected an ExecCredential of {plugin.api_version}"
        )
        raise BadAccess(plugin.where, problem, "correct exec.apiVersion to what this version of the plugin speaks")
    status = answer.status
    expires = status.expiration_timestamp
    if expires is not None and expires <= now:
        problem = f"{plugin.name} answered with a credential that expired on {day(expires)}"
        raise BadAccess(plugin.where, problem, "log in again, or check this machine's clock")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        problem = f"{plugin.name} printed only one of clientCertificateData and clientKeyData"
        raise BadAccess(plugin.where, problem, step)
    if status.client_certificate_data:
        pem, key = status.client_certificate_data.encode(), status.client_key_data.encode()
        where = f"{plugin.where}, answer of {plugin.name}"
        certificate = client_certificate(pem, key, where=where, key_where=where, owner=plugin.owner)
    elif not status.token:
        raise BadAccess(plugin.where, f"{plugin.name} printed neither token nor certificate", step)
    if status.token:
        return bearer(status.token, f"{plugin.where}, answer of {plugin.name}", certificate), expires
    return RequestCredentials(certificate=certificate), expires
