"""The promise of attach/detach under anything that may happen: one node at a time, and in the end the right one."""

import random

import pytest

from growth_lab.simulator.served_kinds import ATTACHMENTS, NODES, PODS
from growth_lab.simulator.store import Event
from lab.tests.simulator.rehearsal import Rehearsal, rehearse
from lab.tests.simulator.volumes.storage import Disks

STEPS = 60


class Turmoil:
    """Random happenings to two nodes, one volume and the pods that want it."""

    def __init__(self, disks: Disks, chance: random.Random) -> None:
        self.disks, self.scene, self.chance = disks, disks.scene, chance
        self.count = 0

    def happen(self) -> None:
        deeds = (self.start, self.start, self.kill, self.kill, self.end, self.taint, self.silence, self.use, self.stick)
        self.chance.choice(deeds)()

    def node(self) -> str:
        name = self.chance.choice(["node-1", "node-2"])
        if self.scene.store.get(NODES, name) is None:
            self.disks.add_node(name)
        elif self.chance.random() < 0.1:
            self.scene.store.delete(NODES, name)
            self.disks.add_node(name)
        return name

    def start(self) -> None:
        self.count += 1
        self.disks.start_pod(f"pod-{self.count}", self.node())

    def kill(self) -> None:
        pods = list(self.scene.store.all(PODS))
        if pods:
            self.scene.delete(self.chance.choice(pods), self.chance.choice([None, 0]))

    def end(self) -> None:
        pods = list(self.scene.store.all(PODS))
        if pods:
            self.scene.set_phase(self.chance.choice(pods), self.chance.choice(["Succeeded", "Failed"]))

    def taint(self) -> None:
        self.chance.choice([self.disks.taint, self.disks.untaint])(self.node())

    def silence(self) -> None:
        self.disks.silence(self.node())

    def use(self) -> None:
        self.disks.use(self.node(), is_used=self.chance.random() < 0.5)

    def stick(self) -> None:
        self.disks.volumes.attacher.is_stuck = self.chance.random() < 0.5


@pytest.mark.parametrize("seed", range(25))
def test_whatever_happens_the_volume_is_on_one_node(seed: int) -> None:
    async def play(scene: Rehearsal) -> None:
        chance = random.Random(seed)  # noqa: S311 - a seed
        disks = Disks(scene)
        turmoil = Turmoil(disks, chance)
        most = 0

        def count(_: Event) -> None:
            nonlocal most
            most = max(most, scene.store.count(ATTACHMENTS))

        scene.store.listen(ATTACHMENTS, count)
        for _ in range(STEPS):
            turmoil.happen()
            await scene.wait(chance.choice([0.01, 0.1, 1.0, 30.0, 400.0]))
        assert most == 1, f"seed {seed}"
        # Calm: one pod wants it, and both nodes are well and let go of what they do not need.
        for pod in list(scene.store.all(PODS)):
            scene.delete(pod, 0)
        disks.volumes.attacher.is_stuck = False
        for name in ("node-1", "node-2"):
            if scene.store.get(NODES, name) is not None:
                scene.store.delete(NODES, name)
            disks.add_node(name)
        disks.start_pod("last", "node-2")
        await scene.wait(60)
        assert disks.attachments() == {"node-2": True}, f"seed {seed}"
        assert disks.reported("node-2") == [disks.in_use], f"seed {seed}"

    rehearse(play)
