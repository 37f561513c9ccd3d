"""What people touch in the terminal.

Law of the room: a file per command, and each one parses, calls and renders. Rendering is pure (value and width in,
text out); exit 0 is done, 1 failed, 2 bad input.
"""
