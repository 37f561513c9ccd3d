"""The one door to the API server.

Law of the room: every request of Growth passes through ``Send`` (see ``kube.transport``); nothing here decides
anything. A virtual cluster replaces ``Send`` and runs all the rest unchanged.
"""
