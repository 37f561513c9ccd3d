"""Work leaves a dead machine by itself, and never a living one. Docs: docs/failover.md."""
