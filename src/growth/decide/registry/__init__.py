"""The state of each node, machine and request, and the health of pools and cluster.

Law of the package: it only looks. What it sees is the same for every decider of a pass, and nothing is concluded from
silence.
"""
