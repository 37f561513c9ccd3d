"""Stories: a cluster, what happens to it, what must hold. Written once, played on a virtual cluster and a real one.

Law of the room: a story goes through the API and nothing else, and waits for what it sees, never for a time; so it
cannot tell on which cluster it is played.
"""
