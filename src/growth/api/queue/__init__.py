"""Kueue's kinds (``kueue.x-k8s.io/v1beta2``), so that manifests, labels and habits fit.

Where Kueue's definitions are installed they are used as they are; where none are, ours (made from these classes) are.
"""
