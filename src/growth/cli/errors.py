"""How a command ends when it cannot do what it was asked: one sentence, no traceback, an honest exit code."""

import click

from growth.api.growth_kinds import GROUP
from growth.api.queue.kinds import GROUP as QUEUE_GROUP
from growth.kube.errors import KubeError, NotFound


class UsageError(click.ClickException):
    """What was given cannot work (a kubeconfig, a name, a server that is not there): exit code 2."""

    exit_code = 2


class NotDone(click.ClickException):
    """It could be asked for, and was not done because it would do harm: exit code 1."""

    exit_code = 1


def sentence_for(error: KubeError) -> str:
    """What the cluster said, and what to do where the error itself cannot know it."""
    if isinstance(error, NotFound) and f"/{GROUP}/" in str(error):
        return f"{error}; Growth's own kinds are not installed: growth crds | kubectl apply --server-side -f -"
    if isinstance(error, NotFound) and f"/{QUEUE_GROUP}/" in str(error):
        return f"{error}; the kinds of the queue are not installed: growth crds --queue | kubectl create -f -"
    return str(error)
