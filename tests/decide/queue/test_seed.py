"""Every sentence of the seed about requeuing is shown by tests and stories that exist, and every story shows one.

What can be counted in the seed is counted here.
"""

from datetime import timedelta

import pytest

from growth.api.crd import definitions
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.queue.workload import RequeueState
from growth.api.settings.loading import SettingsError, read_settings
from growth.api.settings.model import Settings
from growth.decide.queue.requeue import RequeuePolicy, delay
from tests.decide.queue.stage import a_stage, settings
from tests.repository import page_text
from tests.seed_table import check_that_it_is_there, rows_of
from tests.stories.all_stories import STORIES

PAGE = page_text("queue")
SEED = PAGE.partition("## The seed, sentence by sentence")[2].partition("\n## ")[0]
TOLD = {story.name for story in STORIES if story.capability == "queue"}
TIMEOUT = timedelta(minutes=5)


@pytest.mark.parametrize(("sentence", "names"), rows_of(SEED), ids=lambda cell: str(cell)[:60])
def test_what_shows_a_sentence_exists(sentence: str, names: list[str]) -> None:
    assert names, sentence
    for name in names:
        check_that_it_is_there(name, "tests.decide.queue", TOLD)


def test_every_story_of_the_queue_shows_a_sentence() -> None:
    assert {name for _, names in rows_of(SEED) for name in names} >= TOLD


def test_the_tenth_delay_is_what_the_design_calls_the_sum_of_ten() -> None:
    """60s+120s+240s+...+30720s: that is 8h 32min for the last of them alone, and 17h 03min for all."""
    exact = [timedelta(seconds=60 * 2**number) for number in range(10)]
    assert exact[-1] == timedelta(seconds=30720) == timedelta(hours=8, minutes=32)
    assert sum(exact, timedelta()) == timedelta(hours=17, minutes=3)
    for count, seconds in enumerate(exact, 1):
        assert seconds <= delay(count, RequeuePolicy(longest=None), "one") <= seconds * 1.01


def test_ten_requeues_wait_for_pods_for_fifty_minutes() -> None:
    """Ten times five minutes before the ten requeues; the attempt after the last of them takes five more."""
    stage = a_stage(settings(backoff_limit_count=10, backoff_max_seconds=None))
    stage.a_job("one")
    stage.settle()
    waited, backed_off = timedelta(), timedelta()
    for count in range(1, 11):
        stage.wait(TIMEOUT.total_seconds())
        waited += TIMEOUT
        state = stage.workload("one").status.requeue_state
        assert state is not None
        assert state.requeue_at is not None
        assert state.count == count
        backed_off += state.requeue_at - stage.now
        stage.wait((state.requeue_at - stage.now).total_seconds())
        assert stage.admitted() == ["one"]
    assert waited == timedelta(minutes=50)
    assert timedelta(hours=17, minutes=3) <= backed_off <= timedelta(hours=17, minutes=3) * 1.01
    stage.wait(TIMEOUT.total_seconds())
    assert not stage.workload("one").spec.active
    assert stage.workload("one").status.requeue_state == RequeueState(10, None)


def test_without_a_limit_it_is_requeued_for_ever() -> None:
    stage = a_stage(settings())
    stage.a_job("one")
    stage.settle()
    for count in range(1, 25):
        stage.wait(TIMEOUT.total_seconds())
        state = stage.workload("one").status.requeue_state
        assert state is not None
        assert state.count == count
        assert stage.admitted() == [], "it backs off, with a limit or without"
        stage.wait(3700)
        assert stage.admitted() == ["one"]


def test_defaults_are_those_of_the_design() -> None:
    waiting = Settings().queue.wait_for_pods_ready
    strategy = waiting.requeuing_strategy
    assert (waiting.enable, waiting.timeout) == (False, timedelta(seconds=300))
    assert (strategy.timestamp, strategy.backoff_limit_count, strategy.backoff_base_seconds) == ("Eviction", None, 60)
    assert strategy.backoff_limit_timeout is None


def test_the_block_of_a_kueue_configuration_is_read_as_it_is() -> None:
    block = """
    waitForPodsReady:
      enable: true
      timeout: 10m
      recoveryTimeout: 3m
      blockAdmission: true
      requeuingStrategy:
        timestamp: Creation
        backoffLimitCount: 5
        backoffBaseSeconds: 30
        backoffMaxSeconds: 1800
    """
    waiting = read_settings(f"queue:{block}").settings.queue.wait_for_pods_ready
    strategy = waiting.requeuing_strategy
    assert (waiting.enable, waiting.block_admission) == (True, True)
    assert (waiting.timeout, waiting.recovery_timeout) == (timedelta(minutes=10), timedelta(minutes=3))
    assert (strategy.timestamp, strategy.backoff_limit_count) == ("Creation", 5)
    assert (strategy.backoff_base_seconds, strategy.backoff_max_seconds) == (30, 1800)


@pytest.mark.parametrize("word", ["FrontOfQueue", "BackOfQueue", "eviction"])
def test_only_eviction_and_creation_are_strategies(word: str) -> None:
    with pytest.raises(SettingsError, match="Eviction or Creation"):
        read_settings(f"queue: {{waitForPodsReady: {{requeuingStrategy: {{timestamp: {word}}}}}}}")


def test_the_state_has_the_fields_of_the_design() -> None:
    (workload,) = [one for one in definitions(QUEUE_KINDS) if one["spec"]["names"]["kind"] == "Workload"]
    schema = workload["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    state = schema["status"]["properties"]["requeueState"]["properties"]
    assert (state["count"]["type"], state["count"]["minimum"]) == ("integer", 0)
    assert (state["requeueAt"]["type"], state["requeueAt"]["format"]) == ("string", "date-time")
    assert schema["spec"]["properties"]["active"]["type"] == "boolean"


def test_no_queue_has_a_strategy_of_its_own() -> None:
    """It is a setting of the whole: else nobody could say by which time heads of several queues are compared."""
    kinds = [one for one in definitions(QUEUE_KINDS) if one["spec"]["names"]["kind"].endswith("Queue")]
    assert len(kinds) == 2
    assert not any("requeuingStrategy" in str(one) for one in kinds)


@pytest.mark.parametrize("strategy", ["Eviction", "Creation"])
def test_heads_of_several_queues_are_compared_by_the_same_time(strategy: str) -> None:
    """Two queues share what their cohort lends. The head of one could not start; whether it comes before the head of
    the other, which was made later and waited since, is what the strategy says."""
    stage = a_stage(settings(timestamp=strategy), cpu="0", cohortName="both")
    stage.a_queue("other", cpu="0", cohortName="both")
    stage.a_queue("lender", cpu="1", cohortName="both")
    stage.a_door("second", "other")
    stage.a_job("old")
    stage.settle()
    assert stage.admitted() == ["old"]
    stage.a_job("young", local_queue="second")
    stage.a_job("between", local_queue="second")
    stage.settle()
    stage.wait(TIMEOUT.total_seconds())
    assert stage.admitted() == ["young"], "the other one is in its backoff"
    stage.wait(61)
    stage.end("young")
    stage.settle()
    assert stage.admitted() == (["between"] if strategy == "Eviction" else ["old"])
