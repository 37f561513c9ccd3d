"""Removal of empty nodes, of unready nodes and of deleted pools.

Law of the package: a machine goes before its Node object, never below what a pool keeps ready, and never from under
work.
"""
