"""
Streams: events and output that resume where they broke, and never outgrow memory.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from api_driver import Frame, ended, job, made, opened, reached
from test_api_submit import problem

from standfast.api import feed, logs, sse
from standfast.core.errors import Gone, Unavailable
from standfast.wiring import Plane

Http = httpx2.AsyncClient
LONG = {"run_s": 3600.0}


async def _numbers(http: Http, uid: str | None = None) -> list[int]:
    path = "/v1/events" if uid is None else f"/v1/jobs/{uid}/events"
    found: list[int] = []
    while True:
        page = (await http.get(path, params={"after": found[-1] if found else 0, "limit": 7})).json()
        found += [item["seq"] for item in page["items"]]
        if not page["items"]:
            return found


async def test_pages_of_events(http: Http) -> None:
    """
    In order of their numbers, by any page size; `next_cursor` goes on; the spec is not repeated in them.
    """
    told = await ended(http, (await made(http))["uid"])
    whole = (await http.get(f"/v1/jobs/{told['uid']}/events")).json()
    assert whole["items"][0]["type"] == "Submitted" and "spec" not in whole["items"][0]["data"]
    assert [one["seq"] for one in whole["items"]] == await _numbers(http, told["uid"])
    assert whole["next_cursor"] == str(whole["items"][-1]["seq"])
    assert [one["revision"] for one in whole["items"]] == list(range(1, told["revision"] + 1))


async def test_a_stream_of_one_job_ends_with_it(http: Http, plane: Plane) -> None:
    """
    Every event once, in order, with its number as id; then the stream is over, also for one who comes later.
    """
    told = await reached(http, (await made(http, program=LONG))["uid"], "running")
    async with opened(plane.app, f"/v1/jobs/{told['uid']}/events?follow=true") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        first = await stream.frame()
        assert first is not None and first.data["type"] == "Submitted"
        await http.post(f"/v1/jobs/{told['uid']}/cancel")
        rest = [frame async for frame in stream.frames()]
    seen = [int(frame.id) for frame in [first, *rest]]
    assert seen == await _numbers(http, told["uid"])
    assert rest[-1].data["type"] == "Cancelled"
    async with opened(plane.app, f"/v1/jobs/{told['uid']}/events", accept="text/event-stream") as late:
        assert [int(frame.id) async for frame in late.frames()] == seen
    async with opened(
        plane.app, f"/v1/jobs/{told['uid']}/events", accept="text/event-stream", last_event_id=str(seen[1])
    ) as later:
        assert [int(frame.id) async for frame in later.frames()] == seen[2:]


async def test_a_stream_that_breaks_resumes_without_gap_or_double(http: Http, plane: Plane) -> None:
    """
    While jobs come and go, a reader breaks off again and again, and returns with the last id that it saw.
    """
    busy = asyncio.create_task(_busy(http, jobs=120))
    seen: list[int] = []
    cursor = "0"
    while not busy.done() or seen[-1] < (await plane.world.catalogue.newest_seq()):
        async with opened(plane.app, "/v1/events", accept="text/event-stream", last_event_id=cursor) as stream:
            for _ in range(17):
                newest = await plane.world.catalogue.newest_seq()
                if busy.done() and seen and seen[-1] >= newest:
                    break
                frame = await stream.frame()
                assert frame is not None
                if frame.event == "message":
                    seen.append(int(frame.id))
                cursor = frame.id or cursor
    await busy
    assert seen == await _numbers(http)


async def _busy(http: Http, jobs: int) -> None:
    for n in range(jobs // 10):
        body = {"jobs": [job(f"b{n}") for _ in range(10)]}
        for item in (await http.post("/v1/jobs/batch", json=body)).json()["items"]:
            await ended(http, item["uid"])


async def test_a_list_and_what_follows_it_leave_no_gap(http: Http, plane: Plane) -> None:
    """
    Following from a page's `watch_cursor` tells of every job that the page does not have.
    """
    await made(http, "before")
    cursor = (await http.get("/v1/jobs")).json()["watch_cursor"]
    after = await made(http, "after")
    async with opened(plane.app, f"/v1/events?follow=true&cursor={cursor}") as stream:
        async for frame in stream.frames():
            if frame.data["uid"] == after["uid"]:
                assert frame.data["type"] == "Submitted"
                break


async def test_a_namespace_is_followed_alone(http: Http, plane: Plane) -> None:
    """
    Events of others are left out, by page and by stream.
    """
    await made(http, "theirs", namespace="theirs")
    mine = await made(http, "mine", namespace="mine")
    page = (await http.get("/v1/events?namespace=mine")).json()
    assert {one["uid"] for one in page["items"]} == {mine["uid"]}
    async with opened(plane.app, "/v1/events?namespace=mine&after=0", accept="text/event-stream") as stream:
        async for frame in stream.frames():
            assert frame.data["uid"] == mine["uid"]
            break


@pytest.mark.parametrize("path", ["/v1/events", "/v1/jobs/{uid}/events"])
async def test_a_cursor_of_another_store_is_told(http: Http, path: str) -> None:
    """
    410 instead of a stream that silently leaves out what this store numbers below it.
    """
    path = path.format(uid=(await made(http))["uid"])
    for headers in ({}, {"Accept": "text/event-stream"}):
        problem(await http.get(path, params={"cursor": "999999"}, headers=headers), 410, "cursor_expired")
    for wrong in ("-1", "x", "1.5", "9" * 30, ""):
        problem(await http.get(path, params={"cursor": wrong}), 400, "invalid_query")


async def test_quiet_and_filtered_streams_get_bookmarks(
    http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A sign of life at least every heartbeat, also while others are busy; its id is a cursor to resume after.
    """
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.1)
    told = await reached(http, (await made(http, program=LONG))["uid"], "running")
    cursor = (await http.get("/v1/jobs")).json()["watch_cursor"]
    async with opened(plane.app, f"/v1/jobs/{told['uid']}/events?follow=true&after={cursor}") as stream:
        busy = asyncio.create_task(_busy(http, jobs=50))
        marks = [await anext(aiter(stream.frames("bookmark"))) for _ in range(4)]
        await busy
    assert [int(mark.id) for mark in marks] == sorted(int(mark.id) for mark in marks)
    assert int(marks[-1].id) > int(cursor), "what was left out moves the cursor too"


async def test_a_reader_that_stops_reading_costs_no_memory_and_loses_nothing(
    http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    It is sent what it takes and no more, while a shared tail of bounded length goes on; later the store has all of it.
    """
    monkeypatch.setattr(feed, "KEPT", 16)
    async with opened(plane.app, "/v1/events?follow=true&after=0") as stopped:
        async with opened(plane.app, "/v1/events?follow=true") as quick:
            bookmark = await quick.frame()
            assert bookmark is not None
            await _busy(http, jobs=60)
            before = stopped.sent
            newest = await plane.world.catalogue.newest_seq()
            async for frame in quick.frames():
                if int(frame.id) >= newest:
                    break
            assert stopped.sent == before
        seen: list[int] = []
        async for frame in stopped.frames():
            seen.append(int(frame.id))
            if seen[-1] >= newest:
                break
    assert seen == [number for number in await _numbers(http) if number <= newest]


async def test_only_so_many_may_follow(http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    One more is told to come later, and does when another has left.
    """
    monkeypatch.setattr(feed, "FOLLOWERS_MAX", 1)
    await made(http)
    async with opened(plane.app, "/v1/events?follow=true"):
        refused = await http.get("/v1/events?follow=true")
        assert problem(refused, 429, "throttled")["retry"] == "later" and refused.headers["retry-after"] == "5"
    async with opened(plane.app, "/v1/events?follow=true") as stream:
        assert stream.status == 200


async def test_output_by_offset(http: Http) -> None:
    """
    Any piece by its byte, its place in the headers; from the end with `tail`.
    """
    told = await ended(http, (await made(http, program={"output": "one\ntwo\nthree\n"}))["uid"])
    path = f"/v1/jobs/{told['uid']}/logs"
    piece = await http.get(path, params={"limit": 4})
    assert piece.text == "one\n" and piece.headers["content-type"].startswith("text/plain")
    assert (piece.headers["next-cursor"], piece.headers["log-ended"]) == ("4", "false")
    rest = await http.get(path, params={"cursor": piece.headers["next-cursor"]})
    assert rest.text == "two\nthree\n" and rest.headers["log-ended"] == "true" and rest.headers["log-size"] == "14"
    assert (await http.get(path, params={"tail": 6})).text == "three\n"
    assert (await http.get(path, params={"stream": "stderr"})).text == ""
    problem(await http.get(path, params={"stream": "both"}), 400, "invalid_query")
    problem(await http.get(path, params={"attempt": 2}), 404, "attempt_not_found")
    problem(await http.get(path, params={"attempt": "9" * 5000}), 400, "invalid_query")


async def test_output_that_is_gone_missing_or_out_of_reach(
    http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    410 for good, 404 not yet, 503 while the engine is silent: three things, three codes.
    """
    waiting = await made(http, "late", spec={"start_at": "2999-01-01T00:00:00Z"})
    problem(await http.get(f"/v1/jobs/{waiting['uid']}/logs"), 404, "logs_not_found")
    told = await ended(http, (await made(http))["uid"])

    def refusing(error: Exception) -> Any:
        async def read(handle: str, *, stream: str, offset: int, limit: int) -> Any:
            raise error

        return read

    engine = plane.world.engines["fake"]
    for error, status, code in (
        (Gone("gone"), 410, "logs_gone"),
        (Unavailable("silent", code="engine_unreachable"), 503, "engine_unreachable"),
        (Unavailable("silent"), 503, "engine_unreachable"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(engine, "read", refusing(error), raising=False)
            refused = await http.get(f"/v1/jobs/{told['uid']}/logs")
            problem(refused, status, code)
            assert ("retry-after" in refused.headers) == (status == 503)


def _outputs(frames: list[Frame]) -> dict[int, str]:
    told: dict[int, str] = {}
    for frame in frames:
        if frame.event == "output":
            told[frame.data["attempt"]] = told.get(frame.data["attempt"], "") + frame.data["text"]
    return told


async def test_followed_output_goes_on_across_attempts_until_the_job_is_final(http: Http, plane: Plane) -> None:
    """
    Each attempt's output once, tagged with its number; the end of one decides nothing.
    """
    retry = {"max_attempts": 2, "backoff_base_s": 0.01}
    told = await made(
        http, program={"output": "grüße\n" * 9, "fails": 1, "failure_class": "node_lost"}, spec={"retry": retry}
    )
    async with opened(plane.app, f"/v1/jobs/{told['uid']}/logs?follow=true") as stream:
        frames: list[Frame] = []
        while (frame := await stream.frame()) is not None:
            frames.append(frame)
    assert _outputs(frames) == {1: "grüße\n" * 9, 2: "grüße\n" * 9}
    assert frames[-1].event == "end" and frames[-1].data == {"phase": "succeeded"}


async def test_followed_output_resumes_at_its_byte(http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Behind `Last-Event-ID`, in the middle of an attempt; no half characters whatever the pieces; one attempt alone.
    """
    monkeypatch.setattr(logs, "PIECE", 5)
    text = "äöü€𝄞\n" * 4
    told = await ended(http, (await made(http, program={"output": text}))["uid"])
    path = f"/v1/jobs/{told['uid']}/logs?follow=true"
    async with opened(plane.app, path) as stream:
        first = await stream.frame()
        second = await stream.frame()
        assert first is not None and second is not None
    async with opened(plane.app, path, last_event_id=second.id) as stream:
        rest = [frame async for frame in stream.frames("output")]
    assert _outputs([first, second, *rest]) == {1: text}
    async with opened(plane.app, f"{path}&attempt=1&cursor=4") as stream:
        alone = [frame async for frame in stream.frames("output")]
    assert _outputs(alone) == {1: text[2:]} and alone[0].data["offset"] == 4
    for wrong in ("1", "1:x", "0:0", "1:" + "9" * 30):
        problem(await http.get(path, headers={"Last-Event-ID": wrong}), 400, "invalid_query")


async def test_a_server_that_stops_lets_its_readers_go(http: Http, plane: Plane) -> None:
    """
    Streams end and held-back answers come, at once; whoever comes after is told to come again.
    """
    told = await reached(http, (await made(http, program=LONG))["uid"], "running")
    query = {"wait": "done", "timeout": 60}
    held = asyncio.create_task(http.get(f"/v1/jobs/{told['uid']}", params=query))
    async with (
        opened(plane.app, "/v1/events?follow=true") as events,
        opened(plane.app, f"/v1/jobs/{told['uid']}/logs?follow=true") as output,
    ):
        await asyncio.sleep(0.02)
        async with asyncio.timeout(5):
            plane.app.end_streams()
            assert [frame async for frame in events.frames()] == []
            assert [frame async for frame in output.frames()] == []
            assert (await held).json()["phase"] == "running"
    problem(await http.get("/v1/events?follow=true"), 503, "store_closed")
