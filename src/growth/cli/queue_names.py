"""Which queue, namespace or workload a person means; a name that nobody bears is refused with those that are close."""

from collections.abc import Collection
from difflib import get_close_matches

from growth.api.kinds import NAMESPACES
from growth.cli.errors import UsageError
from growth.decide.queue.context import Key, QueueContext

_SHOWN = 3


def check_queue(context: QueueContext, name: str) -> None:
    """Whether there is such a ClusterQueue, if one is named."""
    if not name or name in context.queues:
        return
    clients = sorted({door.spec.cluster_queue for (_, known), door in context.clients.items() if known == name})
    if clients:
        raise UsageError(f"--queue {name}: that is a LocalQueue; expected its ClusterQueue, {' or '.join(clients)}")
    expected = _known("ClusterQueue", context.queues, name, "kubectl get clusterqueues")
    raise UsageError(f"--queue {name}: there is no such ClusterQueue; {expected}")


def check_namespace(context: QueueContext, name: str) -> None:
    """Whether there is such a namespace, if one is named."""
    known = [key[1] for key in context.snapshot.table(NAMESPACES)]
    if name and name not in known:
        expected = _known("namespace", known, name, "kubectl get namespaces")
        raise UsageError(f"--namespace {name}: there is no such namespace; {expected}")


def workload_meant(context: QueueContext, text: str, namespace: str) -> Key:
    """The workload of this name, or of the job of this name; either may stand behind its namespace."""
    before, _, name = text.rpartition("/")
    if before and namespace and before != namespace:
        raise UsageError(f"{text} is in namespace {before}, and --namespace says {namespace}: leave one of them out")
    where = before or namespace
    check_namespace(context, where)
    named = [key for key in context.drafts if key[1] == name and where in ("", key[0])]
    made_for = [
        key
        for key, draft in context.drafts.items()
        if (owner := draft.before.metadata.controller) is not None
        and owner.name == name
        and where in ("", key[0])
        # One that has ended may have left its workload behind, and another one of its name may wait.
        and key not in named
    ]
    alive = [key for key in made_for if not context.drafts[key].before.is_finished]
    found = named or alive or made_for
    if not found:
        raise _unknown(context, text, name, where)
    if len(found) > 1:
        several = ", ".join("/".join(key) for key in sorted(found)[:_SHOWN])
        raise UsageError(f"{text} could be any of {len(found)}: {several}; write the namespace before it")
    return found[0]


def _unknown(context: QueueContext, text: str, name: str, where: str) -> UsageError:
    jobs = [job.metadata for job in context.jobs.values() if job.metadata.name == name]
    unmade = [job for job in jobs if where in ("", job.namespace)]
    if unmade:
        words = "it has no Workload yet: does growth run, with queue.enabled?"
        return UsageError(f"Job {unmade[0].namespace}/{name} waits for its turn to be looked at; {words}")
    names: set[str] = set()
    for key, draft in context.drafts.items():
        owner = draft.before.metadata.controller
        own = {key[1]} | ({owner.name} if owner is not None else set[str]())
        names |= {f"{key[0]}/{one}" for one in own} if "/" in text else own if where in ("", key[0]) else set()
    expected = _known("workload", names, text, "kubectl get workloads.kueue.x-k8s.io -A")
    place = f" in namespace {where}" if where and "/" not in text else ""
    return UsageError(f"there is no workload {text!r}{place}, and none of a job of this name; {expected}")


def _known(what: str, names: Collection[str], name: str, command: str) -> str:
    close = get_close_matches(name, names, _SHOWN)
    if close:
        return f"close to it {'are' if len(close) > 1 else 'is'} {', '.join(close)}"
    if not names:
        return f"there is no {what} at all"
    return f"expected {next(iter(names))}" if len(names) == 1 else f"there are {len(names):,}: {command}"
