"""Images: systems, which have one name and an image per architecture, and snapshots, which have no name."""

from datetime import UTC, datetime
from typing import Any, Final

from growth_lab.hetzner_sandbox.records import Image

_SYSTEMS: Final = (
    # name, description, flavour, version, ids on x86 and arm
    ("debian-12", "Debian 12", "debian", "12", 114690387, 114690389),
    ("ubuntu-24.04", "Ubuntu 24.04", "ubuntu", "24.04", 161547269, 161547270),
    ("debian-13", "Debian 13", "debian", "13", 310557660, 310557661),
    ("rocky-9", "Rocky Linux 9", "rocky", "9", 45779, 103908130),
    ("ubuntu-22.04", "Ubuntu 22.04", "ubuntu", "22.04", 67794396, 103908070),
)
_RELEASED: Final = datetime(2024, 4, 25, 13, 26, 27, tzinfo=UTC)


def system_images() -> dict[int, Image]:
    """What Hetzner offers."""
    made = [
        Image(
            id=image_id,
            type="system",
            name=name,
            description=description,
            os_flavor=flavor,
            os_version=version,
            architecture=architecture,
            created=_RELEASED,
            labels={},
        )
        for name, description, flavor, version, *ids in _SYSTEMS
        for image_id, architecture in zip(ids, ("x86", "arm"), strict=True)
    ]
    return {image.id: image for image in made}


def image_json(image: Image) -> dict[str, Any]:
    """As the API writes it."""
    source = image.created_from
    return {
        "id": image.id,
        "type": image.type,
        "status": image.status,
        "name": image.name,
        "description": image.description,
        "image_size": None if image.type == "system" else 1.5,
        "disk_size": image.disk_gb,
        "created": image.created.isoformat(timespec="seconds"),
        "created_from": {"id": source[0], "name": source[1]} if source else None,
        "bound_to": None,
        "os_flavor": image.os_flavor,
        "os_version": image.os_version,
        "architecture": image.architecture,
        "rapid_deploy": image.type == "system",
        "protection": {"delete": False},
        "deprecation": None,
        "deleted": None,
        "labels": image.labels,
    }
