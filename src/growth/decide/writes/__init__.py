"""Actions that several deciders build: patches of nodes, requests and removals, events they share."""
