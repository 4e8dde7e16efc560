"""
What holds over the whole interface: secrets, plans, races, pages that grow, codes, HEAD, metrics, readiness.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from api_driver import ended, job, made, opened, reached
from prometheus_client.parser import text_string_to_metric_families
from test_api_submit import problem

from standfast.api import logs
from standfast.api.bounds import BodyTooLarge
from standfast.api.problems import CATALOGUE
from standfast.api.routes import ROUTES
from standfast.core.errors import Unavailable
from standfast.settings import Settings
from standfast.wiring import Plane

Http = httpx2.AsyncClient
SECRET = "hunter2-b7f1c0ffee"


async def test_two_bodies_race_for_one_key(http: Http) -> None:
    """
    Of fifty requests with two bodies one makes the job; its twins are replays, all others are told of the holder.
    """
    headers = {"Idempotency-Key": "k"}
    bodies = [job("a"), job("b")] * 25
    answers = await asyncio.gather(*(http.post("/v1/jobs", json=body, headers=headers) for body in bodies))
    (first,) = [answer for answer in answers if answer.status_code == 201]
    for body, answer in zip(bodies, answers, strict=True):
        if body["name"] == first.json()["name"]:
            assert answer.status_code in (200, 201) and answer.json()["uid"] == first.json()["uid"]
        else:
            assert problem(answer, 422, "idempotency_key_reused")["holder"]["uid"] == first.json()["uid"]
    assert len((await http.get("/v1/jobs")).json()["items"]) == 1


async def test_a_page_is_not_torn_by_jobs_that_come_meanwhile(http: Http) -> None:
    """
    Paging while jobs are made gives every job that was there at the first page, once, and none twice.
    """
    there = [(await made(http, f"old{n}"))["uid"] for n in range(12)]
    found: list[str] = []
    query = {"page_size": "3"}
    while True:
        page = (await http.get("/v1/jobs", params=query)).json()
        found += [item["uid"] for item in page["items"]]
        await made(http, "new")
        if page["next_page_token"] is None:
            break
        query["page_token"] = page["next_page_token"]
    assert found == there[::-1]


class TestProcesses:
    """
    A control plane that also has the process engine.
    """

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """
        As above, with all that is logged.
        """
        return msgspec.structs.replace(settings, engines=("fake", "process"), log_level="debug")

    async def test_a_variable_of_the_job_is_told_to_nobody_but_its_reader(
        self, http: Http, plane: Plane, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """
        A value of its environment is in the job's own spec and nowhere else: not in the call that a plan shows, not in
        events, evidence, explanation, metrics, problems or the log.
        """
        program = {"argv": ["true"], "env": {"PASSWORD": SECRET}}
        body = {"name": "one", "spec": {"engine": "process", "program": program}, "request_id": "k"}
        for path in ("/v1/plans", "/v1/jobs?dry_run=true"):
            planned = (await http.post(path, json=body)).json()
            assert SECRET not in str(planned["engine_call"]) and "PASSWORD" in str(planned["engine_call"])
        told = (await http.post("/v1/jobs", json=body)).json()
        assert told["spec"]["program"]["env"]["PASSWORD"] == SECRET
        await ended(http, told["uid"])
        path = f"/v1/jobs/{told['uid']}"
        views = ["/events", "/evidence", "/explain", "/attempts", "/logs"]
        seen = [await http.get(path + view) for view in views]
        seen += [await http.get("/metrics"), await http.get("/v1/events"), await http.get("/v1/doctor")]
        seen.append(await http.post("/v1/jobs", json={**body, "labels": {"a": "b"}}))
        wrong = {"argv": "true", "env": {"PASSWORD": SECRET}}
        seen.append(await http.post("/v1/jobs", json={"name": "x", "spec": {"engine": "process", "program": wrong}}))
        assert [answer.status_code for answer in seen[-2:]] == [422, 422]
        for answer in seen:
            assert SECRET not in answer.text, answer.url
        log = capfd.readouterr()
        assert SECRET not in log.out + log.err


async def test_a_plan_asks_no_engine(http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Planning works with an engine that answers nobody, and nothing is launched or stored by it.
    """
    engine = plane.world.engines["fake"]
    engine.fall_silent(3600.0)  # type: ignore[attr-defined]
    before = await plane.world.catalogue.newest_seq()
    for path in ("/v1/plans", "/v1/jobs?dry_run=true"):
        assert (await http.post(path, json=job())).status_code == 200
    assert engine.ledger == []  # type: ignore[attr-defined]
    assert await plane.world.catalogue.newest_seq() == before


@pytest.mark.parametrize("route", [r for r in ROUTES if r.method == "GET"], ids=lambda r: r.path)
async def test_head_is_get_without_a_body(http: Http, plane: Plane, route: Any) -> None:
    """
    The same status and headers, and nothing else; also when a stream would be asked for.
    """
    uid = (await ended(http, (await made(http, program={"output": "x"}))["uid"]))["uid"]
    path = route.path.format(uid=uid, number="1", code="throttled", digest="sha256:" + "0" * 64)
    get = await http.get(path)
    head = await http.request("HEAD", path, headers={"Accept": "text/event-stream"})
    assert head.status_code == get.status_code
    assert head.headers["content-type"] == get.headers["content-type"]
    assert head.headers.get("etag") == get.headers.get("etag")


async def test_metrics_can_be_parsed(http: Http) -> None:
    """
    The text is what Prometheus reads, counts what happened, and holds no uid.
    """
    told = await ended(http, (await made(http))["uid"])
    answer = await http.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    jobs = [(s.labels["phase"], s.value) for s in families["standfast_jobs"].samples]
    assert jobs == [("succeeded", 1.0)]
    kinds = {s.labels["kind"]: s.value for s in families["standfast_events"].samples if s.name.endswith("_total")}
    assert kinds["Submitted"] == kinds["Succeeded"] == 1.0
    paths = {s.labels["path"] for s in families["standfast_request_seconds"].samples}
    assert {"/v1/jobs", "/v1/jobs/{uid}"} <= paths <= {route.path for route in ROUTES}
    assert told["uid"] not in answer.text


async def test_metrics_count_what_went_wrong_and_what_did_not_happen_twice(http: Http) -> None:
    """
    Failed attempts by class, the one that is tried again too; a submission that was sent again; the calls of the store.
    """
    retry = {"max_attempts": 2, "backoff_base_s": 0.001, "backoff_cap_s": 0.001}
    body = job(program={"fails": 5, "failure_class": "node_lost"}, spec={"retry": retry})
    for status in (201, 200, 200):
        answer = await http.post("/v1/jobs", json=body, headers={"Idempotency-Key": "once"})
        assert answer.status_code == status
    assert (await ended(http, answer.json()["uid"]))["phase"] == "failed"
    told = (await http.get("/metrics")).text
    assert 'standfast_attempt_failures_total{engine="fake",failure_class="node_lost"} 2.0' in told
    assert "standfast_duplicate_submissions_prevented_total 2.0" in told
    counts = {
        (s.labels["port"], s.labels["call"]): s.value
        for family in text_string_to_metric_families(told)
        for s in family.samples
        if s.name == "standfast_port_call_seconds_count"
    }
    assert counts["fake", "launch"] == 2 and counts["store", "commit"] >= 3


async def test_trouble_of_the_loop_is_told(http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With a loop that cannot work the process is alive, not ready, and `doctor` says why.
    """
    assert (await http.get("/readyz")).text == "ready\n"
    monkeypatch.setattr(type(plane.loop), "trouble", property(lambda _: "the observer stands still"))
    assert "stands still" in problem(await http.get("/readyz"), 503, "unavailable")["detail"]
    assert (await http.get("/healthz")).status_code == 200
    doctor = (await http.get("/v1/doctor")).json()
    (check,) = [one for one in doctor["checks"] if one["name"] == "loop"]
    assert not doctor["ok"] and not check["ok"] and check["hint"]


async def test_followed_output_outlives_a_silent_engine(
    http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The stream says once that the engine does not answer, goes on when it does, and leaves nothing out.
    """
    monkeypatch.setattr(logs, "PAUSE_S", 0.005)
    engine = plane.world.engines["fake"]
    told = await reached(http, (await made(http, program={"output": "all\n", "run_s": 3600.0}))["uid"], "running")
    engine.fall_silent(3600.0)  # type: ignore[attr-defined]
    async with opened(plane.app, f"/v1/jobs/{told['uid']}/logs?follow=true") as stream:
        trouble = await stream.frame()
        assert trouble is not None
        assert (trouble.event, trouble.data["code"]) == ("trouble", "engine_unreachable")
        engine.speak()  # type: ignore[attr-defined]
        output = await stream.frame()
        assert output is not None
        assert (output.event, output.data["text"]) == ("output", "all\n")


@pytest.mark.parametrize("text", ["", "a", "ä", "€", "𝄞", "a€", "ä𝄞"])
def test_a_piece_ends_at_a_whole_character(text: str) -> None:
    """
    Cut anywhere, the piece has every whole character that came, and at most three bytes are kept back.
    """
    data = text.encode()
    for end in range(len(data) + 1):
        piece = logs.whole_characters(data[:end])
        piece.decode()
        assert len(data[:end]) - len(piece) <= 3
    assert logs.whole_characters(data) == data


def test_bytes_that_are_no_text_are_not_kept_back() -> None:
    """
    What can never become a character goes out as it is, so that a binary never holds up its stream.
    """
    for data in (b"\xff", b"\xff\x80", b"a\x80\x80\x80\x80", b"\xff" * 9):
        assert logs.whole_characters(data) == data


NOT_REACHED = {
    "store_held": "the control plane does not start",
    "store_corrupt": "likewise; tests of the store have it",
    "store_too_new": "likewise",
    "store_closed": "only between the end of serving and the end of the process",
    "gone": "every Gone that there is has a code of its own",
    "blob_not_kept": "keeping is the runtime's, which goes on without",
    "internal": "a test of the door patches a fault in",
}


def test_every_code_is_reached_by_a_test() -> None:
    """
    Each code of the catalogue is asserted somewhere in these tests, or there is a reason why it cannot be.
    """
    source = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    source = source.replace("BodyTooLarge.code", f'"{BodyTooLarge.code}"')
    source = source.replace(source[source.index("NOT_REACHED = {") : source.index("def test_every_code_is")], "")
    missing = {code for code in CATALOGUE if not re.search(rf'"{code}"', source)} - NOT_REACHED.keys()
    assert missing == set()
    assert NOT_REACHED.keys() <= CATALOGUE.keys()


async def test_a_store_without_room_or_time_says_which(
    http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    503 with the store's own code and a Retry-After; the same request is welcome once it can.
    """
    for code in ("store_full", "store_busy", "store_unavailable"):

        async def refused(steps: Any, code: str = code) -> Any:
            raise Unavailable("not now", code=code)

        with monkeypatch.context() as patch:
            patch.setattr(plane.world.store, "commit", refused, raising=False)
            answer = await http.post("/v1/jobs", json=job(), headers={"Idempotency-Key": code})
            assert problem(answer, 503, code)["retry"] == "same_request"
            assert answer.headers["retry-after"] == "1"
        again = await http.post("/v1/jobs", json=job(), headers={"Idempotency-Key": code})
        assert again.status_code == 201


async def test_evidence_too_long_for_a_record_is_told_whole(
    http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    By its digest, as plain text; 404 for a digest that is not kept, 503 if the disk fails or has changed it.
    """
    name = await plane.world.blobs.put(b"a long tale")
    answer = await http.get(f"/v1/blobs/{name}")
    assert answer.text == "a long tale" and answer.headers["x-content-type-options"] == "nosniff"
    problem(await http.get(f"/v1/blobs/{name[:-1]}{'0' if name[-1] != '0' else '1'}"), 404, "blob_not_found")
    for wrong in ("sha256:..", "x", name.upper()):
        problem(await http.get(f"/v1/blobs/{wrong}"), 404, "not_found")
    for code in ("blob_unreadable", "blob_corrupt"):

        async def refused(digest: str, code: str = code) -> bytes:
            raise Unavailable("not as it was", code=code)

        with monkeypatch.context() as patch:
            patch.setattr(plane.world.blobs, "get", refused)
            problem(await http.get(f"/v1/blobs/{name}"), 503, code)
