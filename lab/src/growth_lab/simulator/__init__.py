"""A simulated cluster in one process: API server, controllers, nodes, and a clock that jumps.

The seam is ``growth.kube.transport.Send``; everything above it runs here unchanged.

Law of the package: one seed decides everything. No wall clock, no thread, no socket, no order of a set; and nothing is
edited in place, because history, watchers and controllers hold on to old states.
"""
