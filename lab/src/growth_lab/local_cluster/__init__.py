"""A real control plane on this machine: etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kwok.

Law of the room: it starts, hurts and ends processes, and knows nothing of autoscaling.
"""
