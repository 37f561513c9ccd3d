"""Deciders: pure functions from a snapshot of the cluster to actions and holds.

Law of the package: imports only ``api`` and ``observe``. No client, no clock (``now`` is a field), no unseeded
randomness: the same input gives the same output.
"""
