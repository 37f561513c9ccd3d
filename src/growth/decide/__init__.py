"""What we would do: pure functions from a Snapshot to Actions and Holds.

Law of the room: imports only ``api`` and ``observe``. No client, no clock (``now`` is a field), no unseeded
randomness: the same input gives the same output.
"""
