"""What clients see of an API server, over a ``Store`` and behind ``growth.kube.transport.Send``.

``server.VirtualApiServer`` answers requests in the words of Kubernetes 1.36. The same requests are played on a real one
and the answers compared (tests/cluster/test_virtual_api_server.py). Everything here is synchronous; only the way to the
server and back (``connection``) takes virtual time.
"""
