"""From a node that nobody needs to none: empty nodes are marked, wait, and go; so does what was given up.

Law of the room: a machine goes before its Node object, never below what a pool keeps ready, and never from under work.
"""
