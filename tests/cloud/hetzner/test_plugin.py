"""What the settings may say about Hetzner."""

from datetime import timedelta

import pytest

from growth.cloud.errors import Invalid
from growth.cloud.hetzner.plugin import HetznerOptions, options_from


def test_only_the_name_of_the_cluster_is_needed() -> None:
    assert options_from({"clusterName": "shop"}) == HetznerOptions(
        "shop", "", "https://api.hetzner.cloud/v1", timedelta(minutes=10)
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "hetzner.clusterName: '' is not possible: expected a name of up to 63 small letters, digits and '-'"),
        (
            {"clusterName": "a", "endpoint": "https://example.org/v1/"},
            (
                "hetzner.endpoint: 'https://example.org/v1/' is not possible: expected an http or https address "
                "without a slash at its end"
            ),
        ),
        (
            {"clusterName": "a", "catalogueEvery": "soon"},
            "hetzner.catalogueEvery: 'soon' is not possible: expected a duration such as 10m",
        ),
        (
            {"clusterName": "a", "catalogueEvery": "0s"},
            "hetzner.catalogueEvery: '0s' is not possible: expected a duration above zero",
        ),
        (
            {"clusterName": "a", "tokenSecrt": "b"},
            "the provider 'hetzner' has no option 'tokenSecrt': the closest is tokenSecret",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(Invalid) as refusal:
        options_from(given)
    assert str(refusal.value) == sentence
