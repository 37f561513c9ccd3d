"""A real control plane on this machine: etcd, API server, scheduler, controller manager and kwok.

Law of the package: it starts, hurts and ends processes, and knows nothing of autoscaling.
"""
