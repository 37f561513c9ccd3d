"""From pods that wait to machines that are asked for: who is demand, for which pool, and what to buy.

Law of the room: it writes NodeRequests and says on pods why they wait; it never asks a provider for anything.
"""
