"""Values that one decider provides and later ones of the same pass read."""
