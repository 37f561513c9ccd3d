"""Machines that cost nothing: ConfigMaps that become KWOK nodes.

Law of the package: a machine is its ConfigMap and the clock, nothing else. So it lives on whatever happens to Growth,
and whoever looks at it, once, twice, late or after a crash, sees the same.
"""
