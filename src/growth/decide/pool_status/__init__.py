"""Status, conditions and finalizer of each NodePool."""
