"""
Times and durations as people write and read them.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def parse_duration_s(text: str) -> float:
    """
    Seconds of `90`, `90s`, `10m`, `1h30m`, `2d`.

    Raises:
        ValueError: It is none of these.
    """
    text = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration; write for example 90s, 10m, 1h30m or 2d")
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


def parse_since(text: str, now: datetime) -> datetime:
    """
    The time that `2h` (ago) or an RFC 3339 time with offset names.

    Raises:
        ValueError: It is neither.
    """
    try:
        return now - timedelta(seconds=parse_duration_s(text))
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a duration like 2h nor a time like 2026-11-30T14:00:00+01:00") from None
    return found if found.tzinfo else found.astimezone()


def span(seconds: float) -> str:
    """
    A duration in two or three characters: `52s`, `9m`, `4h`, `6d`; under ten of a unit with the next smaller one.
    """
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.0f}s"
    if seconds < 600:
        minutes, rest = divmod(int(seconds), 60)
        return f"{minutes}m{rest:02d}s" if rest else f"{minutes}m"
    if seconds < 3600:
        return f"{seconds // 60:.0f}m"
    if seconds < 172_800:
        hours, rest = divmod(int(seconds), 3600)
        return f"{hours}h{rest // 60:02d}m" if rest >= 60 and hours < 10 else f"{hours}h"
    return f"{seconds // 86_400:.0f}d"


def age(since: datetime | None, now: datetime) -> str:
    """
    How long ago, `-` if never.
    """
    return "-" if since is None else span((now - since).total_seconds())


def clock_time(at: datetime | None, now: datetime, *, utc: bool = False) -> str:
    """
    The time of day, with the date if it is not today's, in local time unless `utc`.
    """
    if at is None:
        return "-"
    shown, today = (at, now) if utc else (at.astimezone(), now.astimezone())
    if shown.date() == today.date():
        return shown.strftime("%H:%M:%S")
    return shown.strftime("%Y-%m-%d %H:%M:%S")


def full_time(at: datetime | None, *, utc: bool = False) -> str:
    """
    Date, time and UTC offset.
    """
    if at is None:
        return "-"
    shown = at if utc else at.astimezone()
    return shown.strftime("%Y-%m-%d %H:%M:%S %z") if not utc else shown.strftime("%Y-%m-%d %H:%M:%SZ")
