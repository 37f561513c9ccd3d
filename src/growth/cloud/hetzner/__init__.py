"""The provider of servers in the Hetzner Cloud, on Hetzner's own client.

Translations are pure (``catalogue``, ``server_reading``, ``refusals``); ``calling`` is the only way to the API, and
keeps its blocking client on threads. What Hetzner promises and what it does not: docs/hetzner.md.
"""
