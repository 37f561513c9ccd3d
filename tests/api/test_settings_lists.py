"""Settings that are lists, and durations that may be never: in the file, the environment and a flag."""

from datetime import timedelta

import pytest

from growth.api.node_memory import OWNED_KEYS
from growth.api.settings.loading import SettingsError, read_settings
from growth.api.settings.model import MemorySettings

KEYS = "a list of keys of labels, such as kubernetes.io/hostname or growth.dev/*"
BEGINNINGS = "a list of beginnings of keys, such as example.com/"
NEVER = "a duration above zero, such as 90s, 10m or 1h30m, or never"


def memory(
    text: str = "", environment: dict[str, str] | None = None, flags: dict[str, str] | None = None
) -> MemorySettings:
    return read_settings(text, environment, flags).settings.memory


def test_a_list_may_be_left_out_be_empty_or_have_items() -> None:
    assert memory().owned_keys == OWNED_KEYS
    assert memory("memory: {ownedKeys: }").owned_keys == OWNED_KEYS
    assert memory("memory: {ownedKeys: []}").owned_keys == ()
    assert memory("memory: {ownedKeys: [team, 'example.com/*']}").owned_keys == ("team", "example.com/*")


def test_elsewhere_items_are_set_apart_by_commas() -> None:
    assert memory("", {"GROWTH_MEMORY_OWNED_KEYS": "team, example.com/*"}).owned_keys == ("team", "example.com/*")
    assert memory("", {"GROWTH_MEMORY_OWNED_KEYS": ""}).owned_keys == ()
    assert memory("", {}, {"memory_taints": "example.com/,dedicated"}).taints == ("example.com/", "dedicated")


def test_never_is_no_duration() -> None:
    assert memory().forget_after is None
    assert memory("memory: {forgetAfter: never}").forget_after is None
    assert memory("memory: {forgetAfter: 720h}").forget_after == timedelta(days=30)
    assert memory("", {"GROWTH_MEMORY_FORGET_AFTER": "never"}).forget_after is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("memory: {ownedKeys: team}", f"memory.ownedKeys: 'team' is not possible: expected {KEYS} (growth.yaml)"),
        (
            "memory: {ownedKeys: [kubernetes.io/hostname, kubernetes.io/os, growth.dev/pool, team/*, no good]}",
            f"memory.ownedKeys[4]: 'no good' is not possible: expected {KEYS} (growth.yaml)",
        ),
        ("memory: {ownedKeys: ['*']}", f"memory.ownedKeys[0]: '*' is not possible: expected {KEYS} (growth.yaml)"),
        ("memory: {ownedKeys: ['a*b']}", f"memory.ownedKeys[0]: 'a*b' is not possible: expected {KEYS} (growth.yaml)"),
        (
            "memory: {annotations: [7]}",
            f"memory.annotations[0]: 7 is not possible: expected {BEGINNINGS} (growth.yaml)",
        ),
        ("memory: {taints: ['']}", f"memory.taints[0]: '' is not possible: expected {BEGINNINGS} (growth.yaml)"),
        ("memory: {forgetAfter: 0s}", f"memory.forgetAfter: '0s' is not possible: expected {NEVER} (growth.yaml)"),
        ("memory: {forgetAfter: 30}", f"memory.forgetAfter: 30 is not possible: expected {NEVER} (growth.yaml)"),
        (
            "memory: {forgetAfter: Never}",
            f"memory.forgetAfter: 'Never' is not possible: expected {NEVER} (growth.yaml)",
        ),
        (
            "memory: {checkpointAfter: never}",
            (
                "memory.checkpointAfter: 'never' is not possible: expected a duration above zero, such as 90s, 10m or "
                "1h30m (growth.yaml)"
            ),
        ),
        (
            "memory: {namespace: same, transactionNamespace: same}",
            (
                "memory.transactionNamespace: 'same' is not possible: expected another namespace than that of the "
                "memories (same) (growth.yaml)"
            ),
        ),
    ],
)
def test_what_is_not_possible_is_named_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings(text, file_name="growth.yaml")
    assert caught.value.problems == (problem,)


def test_a_bad_item_of_a_variable_is_named_too() -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings("", {"GROWTH_MEMORY_TAINTS": "example.com/,/bad"})
    expected = (
        f"memory.taints[1]: '/bad' is not possible: expected {BEGINNINGS} (environment variable GROWTH_MEMORY_TAINTS)"
    )
    assert caught.value.problems == (expected,)
