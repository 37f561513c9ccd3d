"""A virtual cluster: an API server, its controllers, nodes and a clock that jumps, in one thread of one process.

The seam is ``growth.kube.transport.Send``; everything above it runs here unchanged.

Law of the room: one seed decides everything. No wall clock, no thread, no socket, no order of a set; and nothing is
edited in place, because history, watchers and controllers hold on to old states.
"""
