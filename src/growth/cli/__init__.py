"""Commands of the terminal, one file each.

Law of the package: a file per command, and each one parses, calls and renders. Rendering is pure (value and width in,
text out); exit 0 is done, 1 failed, 2 bad input.
"""
