"""What the registry carries over to the next pass."""

from datetime import datetime

import msgspec


class RegistryCarry(msgspec.Struct, frozen=True):
    """When the numbers were last written, by our own clock."""

    written_at: datetime | None = None
