"""From a machine that is asked for to a node that works: each NodeRequest through its phases, one step at a time.

Law of the room: it acts on requests, on their machines and nodes, and on the pods they were bought for; what to buy is
not its business.
"""
