"""Labels, annotations and taints given back to a node that returns (docs/node-memory.md)."""
