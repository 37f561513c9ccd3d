"""Tooling around Growth: a simulated cluster, scenarios, a local control plane, a Hetzner sandbox, a provider contract.

Law of the package: it may import all of ``growth``; ``growth`` never imports it.
"""
