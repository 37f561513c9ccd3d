"""Node memory: a node that comes back is the node that left (docs/node-memory.md)."""
