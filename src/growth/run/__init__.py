"""Where the rooms are wired together: informers feed the World, deciders read it, the executor acts.

Law of the room: it owns the tasks and their order of start and end, and nothing else. What is decided is decided in
``decide``, what is said to servers is said by the doors.
"""
