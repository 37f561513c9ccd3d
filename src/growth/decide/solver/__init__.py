"""The cheapest set of machines for the demand.

Law of the package: pure, deterministic (steps, never seconds; no unseeded randomness), safe on a thread. Pods become
groups, groups become rows of a self-contained ``Problem`` in arrays, the search returns a packing of rows, and real
pods are handed to its slots. How it works, with pictures: docs/solver.md.
"""
