"""The job queue, as Kueue has it: admission, preemption, requeueing (docs/queue.md)."""
