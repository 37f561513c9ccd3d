"""Jobs: pods until enough of them ended well, or too many badly. Indexed Jobs and failure policies are not known."""

from growth_lab.simulator.clock import Clock, read
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import JOBS, PODS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.conditions import with_condition
from growth_lab.simulator.workloads.job_pods import (
    Tally,
    is_tracked,
    make_pod,
    release,
    replaces_only_failed,
    restarts,
    tally_of,
)
from growth_lab.simulator.workloads.owned_pods import Families
from growth_lab.simulator.workloads.pod_deletion_order import victims
from growth_lab.simulator.workloads.pod_quotas import PodQuotas
from growth_lab.simulator.workloads.pod_state import controller_of
from growth_lab.simulator.workloads.replica_sets import is_news

FINISHED = ("Complete", "Failed")


class Jobs:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings, families: Families) -> None:
        self._clock, self._store, self._timings, self._families = clock, store, timings, families
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync)
        # Failures since the last success, and when the last one was noticed.
        self._setbacks: dict[str, tuple[int, float]] = {}
        self._quotas = PodQuotas(clock, store, timings)
        self._refusals: dict[str, int] = {}
        families.follow(JOBS.kind, self._queue.add)
        store.listen(JOBS, self._hear)
        store.listen(PODS, self._hear_pod)
        for known in store.all(JOBS):
            self._queue.add(key_of(known))

    def _hear(self, event: Event) -> None:
        if event.what == "DELETED":
            uid = event.object["metadata"]["uid"]
            self._setbacks.pop(uid, None)
            self._refusals.pop(uid, None)
            for pod in list(self._families.of(uid).pods.values()):
                release(self._store, pod)
        elif is_news(event):
            self._queue.add(event.key)

    def _hear_pod(self, event: Event) -> None:
        """A pod that was left behind by its Job is not counted by anybody."""
        if event.what != "MODIFIED" or event.before is None or not is_tracked(event.object):
            return
        owner = controller_of(event.before)
        if owner is not None and owner["kind"] == JOBS.kind and controller_of(event.object) is None:
            release(self._store, event.object)

    def _sync(self, key: Key) -> None:
        job = self._store.get(JOBS, key[1], key[0])
        if job is None:
            return
        family = self._families.of(job["metadata"]["uid"])
        if "deletionTimestamp" in job["metadata"] or finished_at(job) is not None:
            for pod in list(family.pods.values()):
                release(self._store, pod)
            if finished_at(job) is not None:
                return
        tally = tally_of(job, family)
        if "deletionTimestamp" not in job["metadata"]:
            job = self._count(job, tally)
            job = self._judge(job, tally)
            self._manage(job, tally)
        self._write_status(job)

    def _count(self, job: Json, tally: Tally) -> Json:
        """Write the count first, then let the pods go: a crash in between counts nobody twice or never."""
        if not tally.succeeded and not tally.failed:
            return job
        status = part(job, "status")
        count = {
            "succeeded": status.get("succeeded", 0) + len(tally.succeeded) or None,
            "failed": status.get("failed", 0) + len(tally.failed) or None,
        }
        job = self._patch(job, count)
        before, when = self._setbacks.get(job["metadata"]["uid"], (0, 0.0))
        before = 0 if tally.succeeded else before
        when = self._clock.seconds() if tally.failed else when
        self._setbacks[job["metadata"]["uid"]] = before + len(tally.failed), when
        for pod in (*tally.succeeded, *tally.failed):
            release(self._store, pod)
        return job

    def _judge(self, job: Json, tally: Tally) -> Json:
        """Whether the Job has failed or reached its end; the last word waits until its pods are gone."""
        spec, status = job["spec"], part(job, "status")
        if _is_true(job, "FailureTarget") or _is_true(job, "SuccessCriteriaMet"):
            return job
        limit = spec.get("backoffLimit", 6)
        in_place = spec["template"]["spec"].get("restartPolicy") == "OnFailure"
        again = restarts(tally.active) if in_place else 0
        if status.get("failed", 0) > limit or (in_place and again and again >= limit):
            message = "Job has reached the specified backoff limit"
            return self._say(job, "FailureTarget", "BackoffLimitExceeded", message)
        deadline = self._seconds_to_deadline(job)
        if deadline is not None and deadline <= 0:
            message = "Job was active longer than specified deadline"
            return self._say(job, "FailureTarget", "DeadlineExceeded", message)
        if deadline is not None:
            self._queue.add_after(key_of(job), deadline)
        succeeded, completions = status.get("succeeded", 0), spec.get("completions")
        if succeeded >= completions if completions is not None else succeeded > 0 and not tally.active:
            message = "Reached expected number of succeeded pods"
            return self._say(job, "SuccessCriteriaMet", "CompletionsReached", message)
        return job

    def _seconds_to_deadline(self, job: Json) -> float | None:
        seconds, started = job["spec"].get("activeDeadlineSeconds"), part(job, "status").get("startTime")
        if seconds is None or started is None or job["spec"].get("suspend"):
            return None
        return seconds - (self._clock.now() - read(started)).total_seconds()

    def _manage(self, job: Json, tally: Tally) -> None:
        """Make the pods that are missing, delete those that are too many."""
        spec = job["spec"]
        if _is_true(job, "FailureTarget"):
            for pod in tally.active:
                delete_pod(self._store, pod)  # and count them as failed
            return
        wanted = self._wanted(job, tally)
        surplus = len(tally.active) - wanted
        if surplus > 0:
            for pod in victims(tally.active, surplus, self._clock.now()):
                release(self._store, pod)  # nobody's failure
                delete_pod(self._store, pod)
            return
        missing = -surplus - (tally.terminating if replaces_only_failed(job) else 0)
        pause = self._seconds_to_wait(job)
        if missing > 0 and pause > 0:
            self._queue.add_after(key_of(job), pause)
        elif not spec.get("suspend"):
            self._make(job, missing)

    def _make(self, job: Json, missing: int) -> None:
        """Make so many pods; those that are refused are tried again later."""
        uid, namespace = job["metadata"]["uid"], job["metadata"]["namespace"]
        for _ in range(missing):
            if not self._quotas.lets_in(namespace):
                refusals = self._refusals.get(uid, 0)
                self._refusals[uid] = refusals + 1
                pause = min(self._timings.pod_max_retry, self._timings.pod_retry * 2.0 ** min(refusals, 30))
                self._queue.add_after(key_of(job), pause)
                return
            make_pod(self._store, job)
        self._refusals.pop(uid, None)

    def _wanted(self, job: Json, tally: Tally) -> int:
        spec, succeeded = job["spec"], part(job, "status").get("succeeded", 0)
        if spec.get("suspend") or _is_true(job, "SuccessCriteriaMet"):
            return 0
        parallelism, completions = spec.get("parallelism", 1), spec.get("completions")
        if completions is not None:
            return min(parallelism, max(0, completions - succeeded))
        return min(parallelism, len(tally.active)) if succeeded else parallelism

    def _seconds_to_wait(self, job: Json) -> float:
        failures, when = self._setbacks.get(job["metadata"]["uid"], (0, 0.0))
        if not failures:
            return 0.0
        pause = min(self._timings.job_max_backoff, self._timings.job_backoff * 2.0 ** min(failures - 1, 30))
        return pause - (self._clock.seconds() - when)

    def _write_status(self, job: Json) -> None:
        """Counts, and the last word once no pod is left."""
        family = self._families.of(job["metadata"]["uid"])
        tally = tally_of(job, family)
        for target, last in (("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")):
            reason = condition_of(job, target)
            if reason is not None and not tally.active and not tally.terminating and not tally.failed:
                job = self._say(job, last, reason["reason"], reason["message"])
        status: Json = {
            "active": len(tally.active) or None,
            "ready": tally.ready,
            "terminating": tally.terminating,
            "uncountedTerminatedPods": {},
        }
        if _is_true(job, "Complete"):
            status["completionTime"] = part(job, "status").get("completionTime") or self._clock.stamp()
        status |= self._suspension(job)
        self._patch(job, status)

    def _suspension(self, job: Json) -> Json:
        known = part(job, "status")
        is_suspended = bool(job["spec"].get("suspend"))
        if finished_at(job) is not None:
            return {}
        if is_suspended == _is_true(job, "Suspended"):
            return {} if is_suspended or "startTime" in known else {"startTime": self._clock.stamp()}
        word = "suspended" if is_suspended else "resumed"
        condition = {
            "type": "Suspended",
            "status": "True" if is_suspended else "False",
            "reason": f"Job{word.capitalize()}",
            "message": f"Job {word}",
        }
        conditions = with_condition(parts(known, "conditions"), condition, self._clock, "lastProbeTime")
        return {"startTime": None if is_suspended else self._clock.stamp(), "conditions": conditions}

    def _say(self, job: Json, kind: str, reason: str, message: str) -> Json:
        condition = {"type": kind, "status": "True", "reason": reason, "message": message}
        known = parts(job, "status", "conditions")
        return self._patch(job, {"conditions": with_condition(known, condition, self._clock, "lastProbeTime")})

    def _patch(self, job: Json, status: Json) -> Json:
        meta = job["metadata"]
        return self._store.patch(JOBS, meta["name"], meta["namespace"], {"status": status})


def finished_at(job: Json) -> str | None:
    """When the Job came to its end, if it has."""
    for kind in FINISHED:
        condition = condition_of(job, kind)
        if condition is not None and condition["status"] == "True":
            return condition["lastTransitionTime"]
    return None


def _is_true(job: Json, kind: str) -> bool:
    condition = condition_of(job, kind)
    return condition is not None and condition["status"] == "True"
