"""The commands of the lab, which ``growth`` finds through the entry-point group ``growth.commands``.

Law of the room: as in ``growth.cli``, a file per command; parse, call, render.
"""
