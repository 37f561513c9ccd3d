"""What this server lacks of the features that the capabilities use, and the line that says so."""

from collections.abc import Collection

from growth.api.server_features import FEATURES, NEWEST, OLDEST, Feature, is_since, minor_of
from growth.kube.client import Client
from growth.kube.discovery import served_resources


async def missing_features(client: Client, version: str, capabilities: Collection[str]) -> list[Feature]:
    """Those that one of these capabilities uses and that this server, of this version, does not have."""
    used = [one for one in FEATURES if one.is_used_by(frozenset(capabilities))]
    served = await served_resources(client, {one.group_version for one in used if one.group_version})
    minor = minor_of(version)
    return [one for one in used if not _is_there(one, minor, served)]


def is_tested(version: str) -> bool:
    """Whether Growth is tested on servers of this minor release."""
    minor = minor_of(version)
    return bool(minor) and is_since(minor, OLDEST) and is_since(NEWEST, minor)


def sentence_about(feature: Feature) -> str:
    """The feature, whom it concerns and what follows, as one line."""
    used_by = ", ".join(feature.capabilities) or "every capability"
    return f"this server has no {feature.name} (Kubernetes {feature.since}); {used_by}: {feature.without}"


def _is_there(feature: Feature, minor: str, served: frozenset[tuple[str, str]]) -> bool:
    if feature.group_version:
        return (feature.group_version, feature.resource) in served
    return not minor or is_since(minor, feature.since)
