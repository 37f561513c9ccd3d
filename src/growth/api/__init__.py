"""Frozen types: Kubernetes objects, Growth's own kinds, settings and actions.

Law of the package: frozen, typed values and pure translations between them and text. No I/O, no clock, no randomness,
and no import from any other package, so that everything else may lean on it.
"""
