"""The choice between capabilities."""

import pytest

from growth.decide.pipeline import UnknownCapability, chosen
from tests.run.small_cluster import Scribe

KNOWN = tuple(Scribe().capability(name) for name in ("grow", "memory", "failover"))


def names(*wanted: str) -> list[str]:
    return [capability.name for capability in chosen(wanted, KNOWN)]


def test_all_unless_some_are_named_and_always_in_their_own_order() -> None:
    assert names() == ["grow", "memory", "failover"]
    assert names("failover", "grow") == ["grow", "failover"]


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    expected = "there is no capability 'memroy', the closest is 'memory': expected some of grow, memory, failover"
    with pytest.raises(UnknownCapability, match=expected):
        names("grow", "memroy")
    with pytest.raises(UnknownCapability, match="there are none yet"):
        chosen(["grow"], ())
