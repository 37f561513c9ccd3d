"""A virtual cluster: an API server, its controllers, nodes and a clock that jumps, in one thread of one process.

The seam is ``growth.kube.transport.Send``; everything above it runs here unchanged. One seed decides everything.
"""
