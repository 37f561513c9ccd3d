"""What we speak: values only.

Law of the room: frozen, typed values and pure translations between them and text. No I/O, no clock, no randomness,
and no import from any other room, so that everything else may lean on it.
"""
