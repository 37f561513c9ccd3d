"""The client of the API server: requests, informers, leader election, events.

Law of the package: every request of Growth passes through ``Send`` (see ``kube.transport``); nothing here decides
anything. A virtual cluster replaces ``Send`` and runs all the rest unchanged.
"""
