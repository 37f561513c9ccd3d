"""What is written down about a played machine: a ConfigMap, and how it is read again.

Everything that will ever happen to a machine follows from this and the clock. What was bought is written in whole, so
that a catalogue which changes later changes no machine that is there already.
"""

import uuid
from datetime import datetime
from typing import Any, Final

import msgspec

from growth.api.core import ConfigMap
from growth.api.duration import DurationError, format_duration, parse_duration
from growth.api.machine import MachineRequest
from growth.api.meta import Slim
from growth.api.offering import OFFERING, POOL
from growth.api.timestamp import TimestampError, format_micro_time, parse_timestamp
from growth.cloud.errors import Invalid
from growth.cloud.kwok.catalog import Behaviour
from growth.cloud.kwok.faults import FaultError, faults_from, faults_text

MACHINE_LABEL: Final = "growth.dev/machine"
SELECTOR: Final = f"{MACHINE_LABEL}=kwok"
FAULTS: Final = "growth.dev/faults"
"""What goes wrong with this machine. Written when it is made, and read each time: change it to order a fault."""

FENCED_AT: Final = "growth.dev/fenced-at"
"""Set by fencing; the machine is off as long as it stands there."""

POWER_CUT_AT: Final = "growth.dev/power-cut-at"
"""When the machine last lost its power. It stays, because the next boot differs from the one before by it."""

_NAME_PREFIX: Final = "kwok-machine-"
_SCHEME: Final = "kwok://"


class Record(Slim, frozen=True):
    """One played machine, as it stands in its ConfigMap."""

    name: str
    uid: str
    namespace: str
    request: MachineRequest
    created_at: datetime
    behaviour: Behaviour
    is_fenced: bool = False
    power_cut_at: str = ""

    @property
    def id(self) -> str:
        """Name and uid: a machine that has this name later is another one."""
        return f"{self.name}/{self.uid}"

    @property
    def provider_id(self) -> str:
        """The namespace is part of it, so that two Growths on one cluster leave each other's nodes alone."""
        return f"{scheme_of(self.namespace)}{self.id}"

    @property
    def boot_id(self) -> str:
        """What tells this boot from the one before the last power cut."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.uid}/{self.power_cut_at}"))


def scheme_of(namespace: str) -> str:
    """How the provider ids of all machines begin whose ConfigMaps are in this namespace."""
    return f"{_SCHEME}{namespace}/"


def config_map_name(machine: str) -> str:
    """Where a machine is written down; Growth has other ConfigMaps, too."""
    return f"{_NAME_PREFIX}{machine}"


def machine_name(config_map: ConfigMap) -> str:
    """The machine that is written down there."""
    return config_map.metadata.name.removeprefix(_NAME_PREFIX)


def manifest(request: MachineRequest, behaviour: Behaviour, created_at: datetime) -> dict[str, Any]:
    """The ConfigMap of a new machine. What is bought is written in whole; its start-up script is only named there."""
    return {
        "metadata": {
            "name": config_map_name(request.name),
            "labels": {MACHINE_LABEL: "kwok", POOL: request.pool, OFFERING: request.offering.id},
            "annotations": {FAULTS: faults_text(behaviour.faults)},
        },
        "data": {
            "request": msgspec.json.encode(request).decode(),
            "createdAt": format_micro_time(created_at),
            "bootDelay": format_duration(behaviour.boot_delay),
        },
    }


def record_from(config_map: ConfigMap) -> Record:
    """Read a machine again; raises Invalid if somebody wrote something into it that cannot be read."""
    meta, data = config_map.metadata, config_map.data
    try:
        return Record(
            name=machine_name(config_map),
            uid=meta.uid,
            namespace=meta.namespace,
            request=msgspec.json.decode(data["request"], type=MachineRequest),
            created_at=parse_timestamp(data["createdAt"]),
            behaviour=Behaviour(parse_duration(data["bootDelay"]), faults_from(meta.annotations.get(FAULTS, ""))),
            is_fenced=FENCED_AT in meta.annotations,
            power_cut_at=meta.annotations.get(POWER_CUT_AT, ""),
        )
    except KeyError as error:
        problem = f"data.{error.args[0]} is missing"
    except FaultError as error:
        problem = f"annotation {FAULTS}: {error}"
    except (msgspec.DecodeError, TimestampError, DurationError) as error:
        problem = f"data: {error}"
    raise Invalid(f"ConfigMap {meta.namespace}/{meta.name} is no machine that can be read: {problem}")
