from tests.recordings import differences, digest, renamed


def test_recordings_that_are_the_same_have_no_differences() -> None:
    one = {"scenario a": ["1 node a ready", "2 node a gone"]}
    assert differences(one, dict(one)) == []
    assert digest(one) == digest(dict(one))


def test_lines_that_differ_are_shown_with_their_recording() -> None:
    found = differences({"scenario a": ["node a ready"]}, {"scenario a": ["node a lost"]})
    assert found == ["scenario a: 1 lines before, 1 after", "  - node a ready\n  + node a lost"]


def test_recording_that_only_one_side_has_is_a_difference() -> None:
    assert differences({"plan mixed 0": ["AllPlaced"]}, {}) == ["plan mixed 0: 1 lines before, 0 after"]


def test_names_of_the_old_recording_are_replaced_longest_first() -> None:
    old = {"scenario a": ["Standing.READY in Standing"]}
    assert renamed(old, {"Standing": "State", "Standing.READY": "State.ready"}) == {
        "scenario a": ["State.ready in State"]
    }
