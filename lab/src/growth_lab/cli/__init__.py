"""Commands of the lab, found through the entry-point group ``growth.commands``.

Law of the package: as in ``growth.cli``, a file per command; parse, call, render.
"""
