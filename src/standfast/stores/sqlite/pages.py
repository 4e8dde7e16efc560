"""
Pages of jobs, the last accepted first: which index leads in, and what is left to check on the way.

Every way in gives ids from the newest down, so a page is read and no more. The way with the fewest candidates wins;
how many there are is known from the counters, or counted up to a bound. Conditions on namespace, phase, engine and
queue pick a set of counters, and their jobs are merged from one range of the index each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

from standfast.ports.store import Page, Query
from standfast.stores.sqlite import queries, rows
from standfast.stores.sqlite.snapshot import Snapshot

FEW = 5_000
"""Candidates are counted up to here; as many are sorted in a few milliseconds."""

Between = tuple[int, int]
"""Only ids below the first and above the second."""

_HIGHEST = "\U0010ffff"
_ABOVE_ALL = 2**62


@dataclass(frozen=True)
class _Condition:
    """
    An SQL condition on `jobs` with its values. index: the one that finds its jobs, if any.
    """

    sql: str
    values: tuple[Any, ...]
    index: str | None = None
    label: tuple[str, str] | None = None
    by_slot: bool = False


def page(snapshot: Snapshot, query: Query, *, size: int, after: int | None) -> Page:
    """
    As the port says.
    """
    newest_seq, disorder_us = snapshot.row(queries.PROGRESS) or (0, 0)
    between = _between(snapshot, query, after, disorder_us)
    found = list(islice(_found(snapshot, query, size + 1, between), size + 1))
    jobs = [snapshot.job(row) for row in found[:size]]
    return Page(jobs, found[size - 1][0] if len(found) > size else None, newest_seq)


def _found(snapshot: Snapshot, query: Query, limit: int, between: Between) -> Iterable[rows.Row]:
    """
    The rows of the jobs that fit, from the newest down.
    """
    conditions = _conditions(query)
    slots = [one for one in snapshot.rows(queries.SLOTS) if _in_slot(query, one)]
    in_slots = sum(count for *_, count in slots)
    few: _Condition | None = None
    fewest = FEW
    for condition in conditions:
        if condition.index is not None or condition.label is not None:
            number = _probe(snapshot, condition)
            if number < fewest:
                few, fewest = condition, number
    label = next((one for one in conditions if one.label is not None), None)
    if few is not None and fewest < in_slots:
        return _by_few(snapshot, few, _others(conditions, few), limit, between)
    if any(one.by_slot for one in conditions) and (label is None or in_slots <= FEW * 10):
        rest = [one for one in conditions if not one.by_slot]
        return _by_slots(snapshot, [slot_id for slot_id, *_, count in slots if count], rest, limit, between)
    if label is not None and label.label is not None:
        sql, values = _rest(_others(conditions, label))
        return snapshot.rows(queries.PAGE_BY_LABEL.format(rest=sql), (*label.label, *between, *values, limit))
    sql, values = _rest(conditions)
    return snapshot.rows(queries.PAGE_BY_ID.format(rest=sql), (*between, *values, limit))


def _between(snapshot: Snapshot, query: Query, after: int | None, disorder_us: int) -> Between:
    """
    The ids that may fit: behind `after`, and none of a job that was surely made too late or too early.
    """
    below, above = _ABOVE_ALL if after is None else after, 0
    if query.created_before is not None:
        below = min(below, _crossing(snapshot, rows.to_us(query.created_before) + disorder_us))
    if query.created_after is not None:
        above = _crossing(snapshot, rows.to_us(query.created_after) - disorder_us) - 1
    return below, above


def _crossing(snapshot: Snapshot, at_us: int) -> int:
    """
    An id such that the job before it, if any, was made before that time, and the one from it on, if any, was not.

    Times grow with the ids but for the disorder, so jobs further off than that from the crossing are on its side.
    """
    newest = snapshot.row(queries.NEWEST_JOB)
    low, high = 0, newest[0] + 1 if newest else 1
    while high - low > 1:
        middle = (low + high) // 2
        found = snapshot.row(queries.CREATED_FROM, (middle, high))
        if found is not None and found[1] < at_us:
            low = found[0]
        else:
            high = middle
    return high


def _by_few(
    snapshot: Snapshot, few: _Condition, others: Sequence[_Condition], limit: int, between: Between
) -> Iterable[rows.Row]:
    sql, values = _rest(others)
    if few.label is not None:
        yield from snapshot.rows(queries.PAGE_BY_LABEL.format(rest=sql), (*few.label, *between, *values, limit))
        return
    one = queries.PAGE_ONE.format(rest=sql)
    for (job_id,) in snapshot.rows(queries.FEW.format(index=few.index, range=few.sql), (*few.values, *between)):
        yield from snapshot.rows(one, (job_id, *values, 1))


def _by_slots(
    snapshot: Snapshot, slots: Sequence[int], others: Sequence[_Condition], limit: int, between: Between
) -> Iterable[rows.Row]:
    sql, values = _rest(others)
    one = queries.PAGE_BY_SLOT.format(rest=sql)
    ranges = [snapshot.rows(one, (slot_id, *between, *values, limit)) for slot_id in slots]
    return merge(*ranges, key=lambda row: row[0], reverse=True)


def _in_slot(query: Query, slot: tuple[int, str, str, str, str, int]) -> bool:
    _, namespace, engine, queue, phase, _ = slot
    return (
        query.namespace in (None, namespace)
        and query.queue in (None, queue)
        and (not query.engines or engine in query.engines)
        and (not query.phases or phase in query.phases)
        and phase not in query.not_phases
    )


def _conditions(query: Query) -> list[_Condition]:
    """
    Every given part of the query; all of them must hold.
    """
    found: list[_Condition] = []
    for column, value in (("namespace", query.namespace), ("queue", query.queue)):
        if value is not None:
            found.append(_Condition(f"jobs.{column} = ?", (value,), by_slot=True))
    for sql, several in (
        ("jobs.phase IN", query.phases),
        ("jobs.phase NOT IN", query.not_phases),
        ("jobs.engine IN", query.engines),
    ):
        if several:
            marks = ", ".join("?" * len(several))
            found.append(_Condition(f"{sql} ({marks})", tuple(str(one) for one in several), by_slot=True))
    found += [_Condition(queries.HAS_LABEL, (key, value), label=(key, value)) for key, value in query.labels.items()]
    if query.name is not None:
        found.append(_Condition("jobs.name = ?", (query.name,), index="jobs_by_name"))
    if query.name_prefix:
        prefix = query.name_prefix
        found.append(_Condition("jobs.name >= ? AND jobs.name < ?", (prefix, prefix + _HIGHEST), index="jobs_by_name"))
    if query.created_after is not None:
        found.append(_Condition("jobs.created_at >= ?", (rows.to_us(query.created_after),)))
    if query.created_before is not None:
        found.append(_Condition("jobs.created_at < ?", (rows.to_us(query.created_before),)))
    if query.retry_of is not None:
        found.append(_Condition("jobs.retry_of = ?", (query.retry_of,), index="jobs_by_origin"))
    return found


def _others(conditions: Sequence[_Condition], led: _Condition) -> list[_Condition]:
    return [one for one in conditions if one is not led]


def _rest(conditions: Sequence[_Condition]) -> tuple[str, tuple[Any, ...]]:
    """
    The conditions as the tail of a WHERE, with their values.
    """
    sql = "".join(f" AND {one.sql}" for one in conditions)
    return sql, tuple(value for one in conditions for value in one.values)


def _probe(snapshot: Snapshot, condition: _Condition) -> int:
    """
    How many jobs the condition finds, counted up to `FEW`.
    """
    if condition.label is not None:
        sql = queries.PROBE.format(source="labels", range="key = ? AND value = ?")
        return _count(snapshot, sql, (*condition.label, FEW))
    sql = queries.PROBE.format(source=f"jobs INDEXED BY {condition.index}", range=condition.sql)
    return _count(snapshot, sql, (*condition.values, FEW))


def _count(snapshot: Snapshot, sql: str, values: tuple[Any, ...]) -> int:
    found = snapshot.row(sql, values)
    return found[0] if found else 0
