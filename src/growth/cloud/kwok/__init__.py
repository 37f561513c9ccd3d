"""Machines that cost nothing: ConfigMaps that a played cloud turns into nodes, and kwok into living ones.

Law of the room: a machine is its ConfigMap and the clock, nothing else. So it lives on whatever happens to Growth, and
whoever looks at it, once, twice, late or after a crash, sees the same.
"""
