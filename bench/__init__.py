"""Benchmarks: ``python -m bench.NAME``, each ending in one line of JSON.

Machines are noisy, so what matters is given as CPU time of one process or as a ratio measured in one run.
"""
