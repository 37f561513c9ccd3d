"""What we see: events become a World, a World gives Snapshots.

Law of the room: imports only ``api``. It is told what happened and never asks; every index is kept up per event and
never rebuilt.
"""
