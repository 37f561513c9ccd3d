"""A capability whose section of the settings would hide one of Growth's."""

import msgspec
from toy_capability import CAPABILITY as TOY

CAPABILITY = msgspec.structs.replace(TOY, name="kube")
