"""The job queue: who waits, who may begin, and who comes back (docs/queue.md)."""
