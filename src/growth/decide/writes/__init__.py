"""Actions that several deciders build: patches of nodes, requests, removals, shared events."""
