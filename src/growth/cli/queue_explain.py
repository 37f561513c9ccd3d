"""``growth queue explain``: one workload, what happened to it, what it waits for, and what happens next."""

from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from rich.console import Console

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.pod import Pod
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli.client_session import run_interruptible
from growth.cli.errors import UsageError, sentence_for
from growth.cli.queue_explain_report import WorkloadReport, explained
from growth.cli.queue_explain_view import view
from growth.cli.queue_names import workload_meant
from growth.cli.queue_reader import Now, looking
from growth.cli.settings_options import with_settings_of
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import KubeError


@click.command()
@with_settings_of(
    "kube",
    "queue.waitForPodsReady",
    "queue.extendWhileProvisioning",
    "queue.tryOtherFlavors",
    "queue.waitingPreemptorsFirst",
)
@click.argument("name", metavar="WORKLOAD")
@click.option("--namespace", "-n", metavar="NAME", default="", help="The namespace in which it is.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(effective: EffectiveSettings, name: str, namespace: str, output: str) -> None:
    """See all about WORKLOAD: what happened to it, why it waits, and what happens next.

    WORKLOAD is the name of a Workload or of its Job, with or without its namespace (shop/sum). It says how it stands,
    what was written about it in order of time, who is ahead of it or has to go for it, for whom it was sent back, what
    it asks for and what each flavor has left, on which it failed, who holds the rest, what would have to change, and
    how its pods are.

    Give it the settings that growth run has (--settings): they say by when pods must be ready, and how often they are
    tried. It reads what growth queue reads, and pods of that namespace, and changes nothing. Where machines are waited
    for (queue.extendWhileProvisioning), also nodes and noderequests, so that the deadline is the one that Growth keeps.

    \b
    Example:
      growth queue explain sum --settings growth.yaml
      growth queue explain shop/job-sum-5f1c2
      growth queue explain sum -n shop --output json | jq -r .next
    """
    try:
        told = run_interruptible(_connected(effective.settings, name, namespace))
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        console = Console(highlight=False)
        console.print(view(told, console.width))


async def _connected(settings: Settings, name: str, namespace: str) -> WorkloadReport:
    kube = settings.kube
    access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
    async with connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client:
        return await explain_workload(client, settings, name, namespace, lambda: datetime.now(UTC))


async def explain_workload(client: Client, settings: Settings, name: str, namespace: str, now: Now) -> WorkloadReport:
    """Read it, and conclude; raises Refused for a name that nobody bears."""
    async with looking(client, settings, now) as reader:
        key = workload_meant(reader.seen().context, name, namespace)
        pods = await reader.add(PODS, key[0])
        if settings.queue.extend_while_provisioning:
            await reader.add(NODES)
            await reader.add(NODE_REQUESTS)
        seen = reader.seen()
        # It may have gone while these were read.
        workload_meant(seen.context, "/".join(key), "")
        owner = seen.context.drafts[key].before.metadata.controller
        return explained(seen, key, [pod for pod in pods if owner is not None and _is_of(pod, owner.uid)])


def _is_of(pod: Pod, uid: str) -> bool:
    made_by = pod.metadata.controller
    return pod.metadata.uid == uid or (made_by is not None and made_by.uid == uid)
