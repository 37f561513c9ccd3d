"""The same promises for plain pods, which run only once: what is decided on an old sight of them is not taken back."""

from datetime import timedelta

from hypothesis import given
from hypothesis import settings as profile

from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from growth.api.queue.pod import QUEUED_PODS
from tests.decide.queue.test_properties import JOBS, QUOTA, SEEDS, STRATEGIES, TIMESTAMPS, OneQueue
from tests.drawing import examples

READY = [{"type": "Ready", "status": "True"}]


class PodLife(OneQueue):
    """Plain pods instead of jobs. Nobody removes gates by hand."""

    def __init__(self, seed: int, strategy: str, timestamp: str) -> None:
        super().__init__(seed, strategy, timestamp, is_obedient=True)
        self.seen_until = {QUEUED_PODS: 0, WORKLOADS: 0}
        self.ran: set[str] = set()

    @property
    def pods(self) -> list[str]:
        """Those that are there."""
        return [name for kind, _, name in self.stage.objects if kind is QUEUED_PODS]

    @property
    def running(self) -> list[str]:
        """Those that were let go and have not ended."""
        found = {name: self.stage.pod(name) for name in self.pods}
        return [name for name, pod in found.items() if not pod.is_gated and pod.as_job.ended is None]

    def _job(self) -> None:
        if self.made < len(JOBS):
            self.stage.a_pod(JOBS[self.made], cpu=self.chance.choice("1234"))
            self.made += 1

    def _play(self) -> None:
        if self.running:
            status = {"phase": "Running", "conditions": READY}
            ended = {"phase": self.chance.choice(["Succeeded", "Failed"])}
            how = ended if self.chance.random() < 0.2 else status
            self.stage.change(QUEUED_PODS, self.chance.choice(self.running), {"status": how})

    def _leave(self) -> None:
        """Somebody deletes a pod, rarely."""
        if self.pods and self.chance.random() < 0.1:
            self.stage.drop(QUEUED_PODS, self.chance.choice(self.pods))

    def check(self) -> None:
        super().check()
        self.ran |= set(self.running)
        assert sum(map(self._cpus, self.running)) <= QUOTA, "pods use more than there is quota"

    def _cpus(self, job: str) -> int:
        thing = self.stage.objects.get((QUEUED_PODS, "default", job))
        if thing is None or job not in self.running:
            return 0
        (container,) = thing["spec"]["containers"]
        return int(container["resources"]["requests"]["cpu"])

    def calm_down(self) -> None:
        for kind, name in ((CLUSTER_QUEUES, "all"), (LOCAL_QUEUES, "door")):
            self.stage.change(kind, name, {"spec": {"stopPolicy": "None"}})
        for workload in self.stage.workloads():
            self.stage.change(WORKLOADS, workload.metadata.name, {"spec": {"active": True}})
        self.stage.settle()
        self.remember()


@profile(max_examples=examples(100))
@given(SEEDS, STRATEGIES, TIMESTAMPS)
def test_no_more_pods_run_than_there_is_quota(seed: int, strategy: str, timestamp: str) -> None:
    PodLife(seed, strategy, timestamp).live(80)


@profile(max_examples=examples(20))
@given(SEEDS, STRATEGIES, TIMESTAMPS)
def test_no_pod_waits_for_ever(seed: int, strategy: str, timestamp: str) -> None:
    """Once all is calm each pod that is still there is let go, one after the other."""
    life = PodLife(seed, strategy, timestamp)
    life.live(50)
    for _ in range(3 * len(JOBS)):
        life.calm_down()
        for name in life.running:
            life.stage.change(QUEUED_PODS, name, {"status": {"phase": "Succeeded"}})
        life.stage.now += timedelta(hours=2)
    assert [name for name in life.pods if life.stage.pod(name).as_job.ended is None] == []
    assert set(life.pods) <= life.ran
