"""What was decided is carried out here, once: actions become calls at the doors.

Law of the room: it never decides. An action is done as it stands or not at all, with the uid and version it was decided
on, behind the leader's fence, and every side effect passes a named point (``points``), where tests may stop the world.
"""
