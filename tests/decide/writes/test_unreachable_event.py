"""The event about an unreachable node names each way out, and fits into an Event."""

from growth.decide.writes.unreachable_event import unreachable_event
from tests.decide.scale_down.stage import a_node, a_pool

NODE = a_node("web-1", ready=False)
FENCE = "growth node out-of-service web-1 --fence"


def test_unreachable_event_names_both_ways() -> None:
    why = unreachable_event(NODE, a_pool(scaleDown={"unreadyAfter": "7m"})).why
    assert FENCE in why
    assert "scaleDown.removeUnreachable in pool default does so after 7m" in why
    assert len(why.encode()) <= 1024


def test_unreachable_event_says_that_the_pool_deletes_by_itself() -> None:
    why = unreachable_event(NODE, a_pool(scaleDown={"removeUnreachable": True})).why
    assert FENCE in why
    assert "Pool default deletes the machine, with its disks, after 20m" in why


def test_unreachable_event_names_only_fencing_where_no_pool_removes() -> None:
    for pool in (None, a_pool(scaleDown={"enabled": False})):
        why = unreachable_event(NODE, pool).why
        assert FENCE in why
        assert "removeUnreachable" not in why
