"""kube-scheduler 1.36 as far as pods and their observers can see it, built on ``growth.decide.fit``.

Law of the package: what fits is decided by ``growth.decide.fit`` alone, so that there is one opinion about it. Here is
what the scheduler does around it: who is asked next, what wakes a pod that was refused, which of the fitting nodes is
taken, and what is written. An attempt takes no time.
"""

from growth_lab.simulator.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
