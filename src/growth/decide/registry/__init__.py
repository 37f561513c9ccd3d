"""The cluster state registry: each node, machine and request in one state, and what follows for pools and the cluster.

Law of the room: it only looks. What it sees is the same for every decider of a pass, and nothing is concluded from
silence.
"""
