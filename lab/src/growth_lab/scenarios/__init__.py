"""Scenarios: a cluster, what happens to it, what must hold; written once, run on a simulated and a real cluster.

Law of the package: a story goes through the API and nothing else, and waits for what it sees, never for a time; so it
cannot tell on which cluster it is played.
"""
