"""Spans of time, as exact as anybody looks."""

from datetime import timedelta

from growth.api.duration import format_duration


def span(length: timedelta) -> str:
    """Two units of it at most: 4m12s, 3h5m, 12d. What lies on the other side of now is none."""
    seconds = max(0, int(length.total_seconds()))
    if seconds >= 2 * 86_400:
        return f"{seconds // 86_400}d"
    return format_duration(timedelta(seconds=seconds - seconds % 60 if seconds >= 3600 else seconds))
