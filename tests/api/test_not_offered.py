"""Types that no provider offers: none stands in the catalogue that comes with Growth, and all successors do."""

import pytest

from growth.api.not_offered import not_offered, withdrawn_types
from growth.cloud.kwok.catalog import shipped_catalogue


@pytest.mark.parametrize("provider", ["hetzner", "kwok"])
def test_successors_are_offered_and_withdrawn_types_are_not(provider: str) -> None:
    offered = {one.server_type for one in shipped_catalogue(provider).offerings if one.is_cloud}
    assert withdrawn_types()
    for name, one in withdrawn_types().items():
        assert name not in offered
        assert one.successor in offered
        assert one == not_offered(provider, name.upper())


def test_dedicated_server_is_no_withdrawn_type() -> None:
    found = not_offered("hetzner", "GEX44")
    assert found is not None
    assert (found.withdrawn_on, found.successor) == (None, "")
    assert "gex44" not in withdrawn_types()


def test_types_of_another_provider_are_unknown() -> None:
    assert not_offered("attic", "cx31") is None
