"""The settings of the queue, as its parts ask for them."""

from datetime import timedelta
from typing import cast

import msgspec

from growth.api.settings.model import QueueSettings
from growth.decide.queue.pending_queue import Strategy
from growth.decide.queue.requeue import ReadinessPolicy, RequeuePolicy


class QueuePolicy(msgspec.Struct, frozen=True):
    """All of them."""

    requeuing: RequeuePolicy
    readiness: ReadinessPolicy | None
    """None if nobody is put back for pods that are not ready."""
    blocks_admission: bool
    extends: bool


def terms_of(settings: QueueSettings) -> QueuePolicy:
    """What the settings come to."""
    waiting = settings.wait_for_pods_ready
    strategy = waiting.requeuing_strategy
    recovery = waiting.timeout if waiting.recovery_timeout is None else waiting.recovery_timeout
    return QueuePolicy(
        RequeuePolicy(
            cast("Strategy", strategy.timestamp),
            strategy.backoff_limit_count,
            _seconds(strategy.backoff_limit_timeout),
            timedelta(seconds=strategy.backoff_base_seconds),
            _seconds(strategy.backoff_max_seconds),
        ),
        ReadinessPolicy(waiting.timeout, recovery or None) if waiting.enable else None,
        waiting.enable and waiting.block_admission,
        settings.extend_while_provisioning,
    )


def _seconds(count: int | None) -> timedelta | None:
    return None if count is None else timedelta(seconds=count)
