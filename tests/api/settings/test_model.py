"""Settings: who wins, what is refused and in which words."""

from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.settings.fields import PREFIX, SettingField, plain, setting_fields, worded
from growth.api.settings.loading import SettingsError, read_settings
from growth.api.settings.model import Settings


def test_without_any_input_everything_has_its_default() -> None:
    effective = read_settings()
    assert effective.settings == Settings()
    assert {row.origin for row in effective.fields} == {"default"}


def test_an_empty_file_and_empty_sections_change_nothing() -> None:
    assert read_settings("kube:\nleaderElection: {leaseDuration: }\n").settings == Settings()


def test_a_flag_wins_over_a_variable_a_variable_over_the_file_and_the_file_over_the_default() -> None:
    text = "namespace: from-file\nleaderElection: {leaseDuration: 20s, leaseName: from-file}\n"
    environment = {"GROWTH_NAMESPACE": "from-environment", "GROWTH_LEADER_ELECTION_LEASE_NAME": "from-environment"}
    effective = read_settings(text, environment, {"namespace": "from-flag"})
    assert effective.settings.namespace == "from-flag"
    assert effective.settings.leader_election.lease_name == "from-environment"
    assert effective.settings.leader_election.lease_duration == timedelta(seconds=20)
    assert {row.field.path: row.origin for row in effective.fields if row.origin != "default"} == {
        "namespace": "flag",
        "leaderElection.leaseName": "environment",
        "leaderElection.leaseDuration": "file",
    }


def test_every_field_goes_by_names_that_follow_from_where_it_stands() -> None:
    names = {field.path: (field.variable, field.flag) for field in setting_fields()}
    assert names["leaderElection.leaseDuration"] == (
        "GROWTH_LEADER_ELECTION_LEASE_DURATION",
        "--leader-election-lease-duration",
    )
    assert names["kube.kubeconfig"] == ("GROWTH_KUBECONFIG", "--kubeconfig")
    assert names["kube.context"] == ("GROWTH_CONTEXT", "--context")
    for one in zip(*names.values(), strict=True):
        assert len(set(one)) == len(names), "two settings share a name"


def test_every_field_says_what_it_means_and_what_it_expects() -> None:
    for field in setting_fields():
        assert field.meaning.endswith(".")
        assert field.expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "leaderElection: {leaseDuratoin: 3s}",
            (
                "leaderElection.leaseDuratoin: '3s' has no meaning: there is no such setting, the closest is "
                "leaderElection.leaseDuration (growth.yaml)"
            ),
        ),
        (
            "leaseDuration: 3s",
            (
                "leaseDuration: '3s' has no meaning: there is no such setting, the closest is "
                "leaderElection.leaseDuration (growth.yaml)"
            ),
        ),
        ("kub: {}", "kub: {} has no meaning: there is no such setting, the closest is kube (growth.yaml)"),
        ("zebra: 1", "zebra: 1 has no meaning: there is no such setting (growth.yaml)"),
        (
            "leaderElection: {leaseDuration: 15}",
            (
                "leaderElection.leaseDuration: 15 is not possible: expected a duration above zero, such as 90s, 10m or "
                "1h30m (growth.yaml)"
            ),
        ),
        (
            "leaderElection: {retryPeriod: 0s}",
            (
                "leaderElection.retryPeriod: '0s' is not possible: expected a duration above zero, such as 90s, 10m or "
                "1h30m (growth.yaml)"
            ),
        ),
        (
            "kube: {maxConcurrentRequests: 0}",
            "kube.maxConcurrentRequests: 0 is not possible: expected a whole number from 1 to 4096 (growth.yaml)",
        ),
        (
            "kube: {maxConcurrentRequests: yes}",
            "kube.maxConcurrentRequests: True is not possible: expected a whole number from 1 to 4096 (growth.yaml)",
        ),
        (
            "namespace: Growth_System",
            (
                "namespace: 'Growth_System' is not possible: expected a namespace's name: up to 63 small letters, "
                "digits and '-' (growth.yaml)"
            ),
        ),
        ("kube: {context: 7}", "kube.context: 7 is not possible: expected a text (growth.yaml)"),
        (
            "kube: fast",
            (
                "kube: 'fast' is not possible: expected fields inside it (kube.context, kube.kubeconfig, "
                "kube.maxConcurrentRequests) (growth.yaml)"
            ),
        ),
        (
            "leaderElection: {leaseDuration: 10s}",
            (
                "leaderElection.leaseDuration: '10s' is not possible: expected a duration above renewDeadline (10s), "
                "so that a leader has stopped before another one starts (growth.yaml)"
            ),
        ),
        (
            "leaderElection: {retryPeriod: 10s}",
            (
                "leaderElection.renewDeadline: '10s' is not possible: expected a duration above retryPeriod (10s), so "
                "that a leader may try more than once (default)"
            ),
        ),
        ("- 1", "growth.yaml holds [1]: expected fields such as namespace: growth-system"),
        ("namespace: [a", "growth.yaml is not YAML in line 1, column 14: expected ',' or ']', but got '<stream end>'"),
    ],
)
def test_bad_input_stops_the_start_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        read_settings(text, file_name="growth.yaml")
    assert refusal.value.problems == (sentence,)


def test_a_bad_variable_or_flag_is_called_by_its_name() -> None:
    with pytest.raises(SettingsError) as refusal:
        read_settings("", {"GROWTH_MAX_CONCURRENT_REQUESTS": "many"}, {"leader_election_retry_period": "soon"})
    assert refusal.value.problems == (
        (
            "kube.maxConcurrentRequests: 'many' is not possible: expected a whole number from 1 to 4096 "
            "(environment variable GROWTH_MAX_CONCURRENT_REQUESTS)"
        ),
        (
            "leaderElection.retryPeriod: 'soon' is not possible: expected a duration above zero, such as 90s, 10m or "
            "1h30m (--leader-election-retry-period)"
        ),
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "providers: {enabled: 'kwok,hetzner'}",
            (
                "hetzner.clusterName: '' is not possible: expected the name of this cluster, because providers.enabled "
                "names hetzner (default)"
            ),
        ),
        (
            "hetzner: {endpoint: 'https://api.hetzner.cloud/v1/'}",
            (
                "hetzner.endpoint: 'https://api.hetzner.cloud/v1/' is not possible: expected an http or https address "
                "without a slash at its end, such as https://api.hetzner.cloud/v1 (growth.yaml)"
            ),
        ),
        (
            "hetzner: {clusterName: Shop}",
            (
                "hetzner.clusterName: 'Shop' is not possible: expected a name of up to 63 small letters, digits "
                "and '-', or nothing where hetzner is not enabled (growth.yaml)"
            ),
        ),
    ],
)
def test_hetzner_is_refused_without_what_it_needs(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        read_settings(text, file_name="growth.yaml")
    assert refusal.value.problems == (sentence,)


def test_hetzner_needs_no_more_than_the_name_of_the_cluster() -> None:
    settings = read_settings("providers: {enabled: hetzner}\nhetzner: {clusterName: shop}").settings
    assert settings.hetzner.endpoint == "https://api.hetzner.cloud/v1"
    assert settings.hetzner.catalogue_every == timedelta(minutes=10)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as refusal:
        read_settings("zebra: 1\nkube: 3\nnamespace: _\n")
    assert [problem.split(":")[0] for problem in refusal.value.problems] == ["zebra", "kube", "namespace"]


def test_a_slip_in_a_variable_is_told_and_kubernetes_own_variables_are_left_alone() -> None:
    assert read_settings("", {"GROWTH_SERVICE_HOST": "10.0.0.1", "GROWTH_CACHE": "x"}).settings == Settings()
    with pytest.raises(SettingsError, match=r"GROWTH_NAMESPCE: 'a' has no meaning.* the closest is GROWTH_NAMESPACE"):
        read_settings("", {"GROWTH_NAMESPCE": "a"})


@given(st.sampled_from(setting_fields()), st.data())
def test_a_legal_value_means_the_same_in_the_file_the_environment_and_a_flag(
    field: SettingField, data: st.DataObject
) -> None:
    drawn = {
        str: st.from_regex(r"[a-z]([-a-z]{0,10}[a-z])?", fullmatch=True).filter(lambda t: t not in WORDS_OF_YAML),
        bool: st.booleans(),
        int: st.integers(*bounds_of(field)),
        # A little above the default, so that it contradicts no other one.
        timedelta: st.integers(1, 99).map(
            lambda ms: cast("timedelta", field.default or timedelta(0)) + timedelta(milliseconds=ms)
        ),
        tuple: st.lists(st.from_regex(r"[a-z]{1,9}(\.[a-z]{1,9})?", fullmatch=True)).map(tuple),
    }
    value = data.draw(drawn[field.type])
    if field.path in CHOICES:
        value = data.draw(st.sampled_from(CHOICES[field.path]))
    if field.path == "hetzner.endpoint":
        value = f"https://{value}"
    if (field.path, value) == ("providers.enabled", "hetzner"):
        value = "kwok"  # it would want the cluster's name
    section, _, name = field.path.rpartition(".")
    line = f"{name}: {plain(value, field.nothing)}"
    everywhere = (
        read_settings(f"{section}: {{{line}}}" if section else line),
        read_settings("", {field.variable: worded(value, field.nothing)}),
        read_settings("", {field.variable: "ignored"}, {field.parameter: worded(value, field.nothing)}),
    )
    if field.path == "leaderElection.leaseDuration":
        assert all(one.settings.leader_election.lease_duration == value for one in everywhere)
    assert everywhere[0].settings == everywhere[1].settings == everywhere[2].settings
    assert field.variable.startswith(PREFIX)


def bounds_of(field: SettingField) -> tuple[int, int]:
    """From where to where it is legal; 4096 stands for a field that may grow for ever."""
    low, high = getattr(field.shape, "ge", None), getattr(field.shape, "le", None)
    return 1 if low is None else low, 4096 if high is None else high


WORDS_OF_YAML = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
# "off" among them: YAML takes it for false unless it stands in quotes, and it is meant all the same.
CHOICES = {
    "failover.mode": ["off", "observe", "act"],
    "failover.speed": ["fast", "standard"],
    "memory.mode": ["off", "merge", "replace"],
    "removal.delayAfterScaleUpScope": ["cluster", "pool"],
    "memory.forgetAfter": [None, timedelta(days=30)],
    "queue.waitForPodsReady.requeuingStrategy.timestamp": ["Eviction", "Creation"],
    "queue.waitForPodsReady.requeuingStrategy.backoffMaxSeconds": [None, 0, 60],
    "queue.waitForPodsReady.recoveryTimeout": [None, timedelta(0), timedelta(minutes=3)],
}
