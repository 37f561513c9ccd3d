"""A stateful stand-in of the Hetzner Cloud API, for tests and for trying things at no cost.

``sandbox.Sandbox`` is the whole of it as a value machine: a Request in, an Answer out, on a clock that is given. What
a real account does by itself (servers boot, actions end) happens when the clock has passed it. docs/hetzner-sandbox.md
says how to use it and what it does not imitate.

Law of the package: one seed decides everything, and there is no wall clock, thread or socket. Three modules are outside
of it: ``http_server`` has a socket and a thread, ``requests_adapter`` serves the official client without a socket, and
``kwok_nodes`` writes the nodes of servers into a real cluster.
"""
