"""Moves that save money, and nodes that are replaced for another reason."""
