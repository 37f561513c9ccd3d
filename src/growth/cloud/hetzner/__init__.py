"""Servers of the Hetzner Cloud, through Hetzner's own client.

Translations are pure (``catalog``, ``machine_decoding``, ``provider_errors``); ``api_client`` is the only way to the
API, and keeps its blocking client on threads. What Hetzner promises and what it does not: docs/hetzner.md.
"""
