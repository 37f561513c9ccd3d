"""The base of everything we read from the API server: exactly the fields we use, frozen, unknown fields skipped.

Kubernetes objects are about 3.5 KB each and a large cluster holds 150,000 of them; we keep a few hundred bytes. What
is not named in a struct is skipped while decoding and never becomes a Python object. The price: a slim object is for
reading only, it must never be sent back as a whole (that would erase what we skipped), so writes are patches.
"""

import msgspec


class Slim(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A frozen value without cycles (so the garbage collector need not track it), camelCase on the wire."""
