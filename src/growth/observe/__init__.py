"""The cluster cache with its indexes, and the snapshot that deciders read.

Law of the package: imports only ``api``. It is told what happened and never asks; every index is kept up per event and
never rebuilt.
"""
