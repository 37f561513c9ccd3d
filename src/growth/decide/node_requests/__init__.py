"""Each NodeRequest from Pending to a node that works, one step at a time.

Law of the package: it acts on requests, on their machines and nodes, and on the pods they were bought for; what to buy
is not its business.
"""
