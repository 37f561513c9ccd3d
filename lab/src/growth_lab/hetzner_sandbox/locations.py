"""The six places. The ids of the last three are a belief."""

from typing import Any, Final

from growth.api.meta import FrozenValue


class Location(FrozenValue, frozen=True):
    """A place with machines; a network reaches those of one zone."""

    id: int
    name: str
    description: str
    country: str
    city: str
    latitude: float
    longitude: float
    network_zone: str

    @property
    def json(self) -> dict[str, Any]:
        """As the API writes it."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "country": self.country,
            "city": self.city,
            "latitude": self.latitude,
            "longitude": self.longitude,
            "network_zone": self.network_zone,
        }


LOCATIONS: Final[dict[str, Location]] = {
    place.name: place
    for place in (
        Location(1, "fsn1", "Falkenstein DC Park 1", "DE", "Falkenstein", 50.47612, 12.370071, "eu-central"),
        Location(2, "nbg1", "Nuremberg DC Park 1", "DE", "Nuremberg", 49.452102, 11.076665, "eu-central"),
        Location(3, "hel1", "Helsinki DC Park 1", "FI", "Helsinki", 60.169855, 24.938379, "eu-central"),
        Location(4, "ash", "Ashburn, VA", "US", "Ashburn, VA", 39.045821, -77.487073, "us-east"),
        Location(5, "hil", "Hillsboro, OR", "US", "Hillsboro, OR", 45.54222, -122.951924, "us-west"),
        Location(6, "sin", "Singapore", "SG", "Singapore", 1.283333, 103.833333, "ap-southeast"),
    )
}
EU: Final = ("fsn1", "nbg1", "hel1")
US: Final = ("ash", "hil")
SIN: Final = ("sin",)
ZONES: Final = frozenset(place.network_zone for place in LOCATIONS.values())
