"""
Reading jobs and moving them: pages, filters, revisions, waiting, verbs.
"""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from api_driver import ended, job, made, reached
from test_api_submit import problem

Http = httpx2.AsyncClient
LONG = {"run_s": 3600.0}


async def test_pages_go_through_all_jobs_newest_first(http: Http) -> None:
    """
    Every job once, newest first, until there is no token; `watch_cursor` is where to follow from.
    """
    uids = [(await made(http, f"p{n}"))["uid"] for n in range(7)]
    found: list[str] = []
    query: dict[str, str] = {"page_size": "3"}
    while True:
        page = (await http.get("/v1/jobs", params=query)).json()
        found += [item["uid"] for item in page["items"]]
        assert page["watch_cursor"].isdecimal()
        if page["next_page_token"] is None:
            break
        query["page_token"] = page["next_page_token"]
    assert found == uids[::-1]


async def test_a_page_token_is_good_for_its_filter_only(http: Http) -> None:
    """
    With another filter 400 `page_token_mismatch`; the page size may change; a made-up token is refused as such.
    """
    for n in range(4):
        await made(http, f"p{n}")
    token = (await http.get("/v1/jobs?page_size=2&engine=fake")).json()["next_page_token"]
    assert (await http.get(f"/v1/jobs?page_size=9&engine=fake&page_token={token}")).status_code == 200
    other = await http.get(f"/v1/jobs?page_size=2&phase=running&page_token={token}")
    problem(other, 400, "page_token_mismatch")
    for wrong in ("x", "%00", "MQ", token[:-2], "é"):
        answer = await http.get("/v1/jobs", params={"page_size": "2", "engine": "fake", "page_token": wrong})
        assert answer.status_code in (200, 400), wrong
        if answer.status_code == 400:
            assert answer.json()["code"] in ("invalid_query", "page_token_mismatch")


async def test_filters(http: Http) -> None:
    """
    Each filter leaves what it says; `!` leaves a phase out; repeated labels must all fit.
    """
    a = await made(http, "etl-a", labels={"team": "x", "tier": "1"}, program=LONG)
    b = await made(http, "etl-b", labels={"team": "x"}, namespace="other")
    c = await made(http, "train", spec={"queue": "gpu", "start_at": "2999-01-01T00:00:00Z"})
    await reached(http, a["uid"], "running")
    await ended(http, b["uid"])

    async def names(**query: str | list[str]) -> list[str]:
        answer = await http.get("/v1/jobs", params=query)
        assert answer.status_code == 200, answer.text
        return sorted(item["name"] for item in answer.json()["items"])

    assert await names() == ["etl-a", "etl-b", "train"]
    assert await names(phase="running") == ["etl-a"]
    assert await names(phase="!succeeded") == ["etl-a", "train"]
    assert await names(phase=["running", "queued"]) == ["etl-a", "train"]
    assert await names(name="train") == ["train"]
    assert await names(name_prefix="etl-") == ["etl-a", "etl-b"]
    assert await names(namespace="other") == ["etl-b"]
    assert await names(queue="gpu") == ["train"]
    assert await names(engine="fake,process") == ["etl-a", "etl-b", "train"]
    assert await names(engine="process") == []
    assert await names(label="team=x") == ["etl-a", "etl-b"]
    assert await names(label=["team=x", "tier=1"]) == ["etl-a"]
    assert await names(created_after=c["created_at"]) == ["train"]
    assert await names(created_before=a["created_at"]) == []


@pytest.mark.parametrize(
    "query, named",
    [
        ("phase=busy", "?phase"),
        ("label=team", "?label"),
        ("page_size=-1", "?page_size"),
        ("page_size=many", "?page_size"),
        ("created_after=yesterday", "?created_after"),
        ("created_after=2026-01-01T00:00:00", "?created_after"),
        ("created_after=0001-01-01T00:00:00%2B14:00", "?created_after"),
        ("fields=uid,colour", "?fields"),
        ("colour=red", "?colour"),
        ("name=a&name=b", "?name"),
    ],
)
async def test_a_wrong_query_is_named(http: Http, query: str, named: str) -> None:
    """
    400 `invalid_query`, and which parameter.
    """
    told = problem(await http.get(f"/v1/jobs?{query}"), 400, "invalid_query")
    assert told["errors"][0]["pointer"] == named


async def test_fields_cut_each_job_down(http: Http) -> None:
    """
    Only what was asked for, also from inside a field.
    """
    await made(http)
    page = (await http.get("/v1/jobs?fields=uid,why.reason&fields=attempt.handle")).json()
    assert list(page["items"][0]) == ["uid", "why.reason", "attempt.handle"]


async def test_revisions_guard_changes(http: Http) -> None:
    """
    `If-Match` with the revision at hand changes the job; with an older one 412, and nothing happens.
    """
    told = await reached(http, (await made(http, program=LONG))["uid"], "running")
    path = f"/v1/jobs/{told['uid']}/cancel"
    problem(await http.post(path, headers={"If-Match": '"1"'}), 412, "revision_changed")
    assert (await http.get(f"/v1/jobs/{told['uid']}")).json()["phase"] == "running"
    taken = await http.post(path, headers={"If-Match": f'"{told["revision"]}"'}, json={"reason": "wrong day"})
    assert taken.status_code == 202, taken.text
    final = await ended(http, told["uid"])
    assert final["phase"] == "cancelled" and final["outcome"] == "cancelled"
    assert (await http.post(path)).status_code == 202, "what is there already is no mistake"
    problem(await http.post(f"/v1/jobs/{told['uid']}/suspend"), 409, "already_final")


async def test_suspend_and_resume(http: Http) -> None:
    """
    What was suspended runs again as another attempt after resume.
    """
    told = await reached(http, (await made(http, program=LONG, spec={"retry": {"max_attempts": 3}}))["uid"], "running")
    await http.post(f"/v1/jobs/{told['uid']}/suspend", json={"reason": "maintenance"})
    await reached(http, told["uid"], "suspended")
    assert (await http.post(f"/v1/jobs/{told['uid']}/resume")).status_code == 202
    again = await reached(http, told["uid"], "running")
    assert again["attempt"]["number"] == 2
    idle = await http.post(f"/v1/jobs/{told['uid']}/resume")
    assert (idle.status_code, idle.json()["revision"]) == (202, again["revision"]), "its effect is there already"
    attempts = (await http.get(f"/v1/jobs/{told['uid']}/attempts")).json()["items"]
    assert [one["number"] for one in attempts] == [1, 2]
    assert (await http.get(f"/v1/jobs/{told['uid']}/attempts/2")).json()["handle"] == again["attempt"]["handle"]
    problem(await http.get(f"/v1/jobs/{told['uid']}/attempts/3"), 404, "attempt_not_found")


async def test_a_doubt_is_explained_and_settled_by_a_person(http: Http) -> None:
    """
    Job, explanation and text give the same reason and what would settle it; `resolve` needs its reason, and is recorded
    with who gave it.
    """
    path = f"/v1/jobs/{(await made(http, program={'ending': 'unknown'}))['uid']}"
    told = await reached(http, path.removeprefix("/v1/jobs/"), "uncertain")
    explained = (await http.get(f"{path}/explain")).json()
    assert explained["why"] == told["why"] and explained["known"] and explained["settles"]
    text = await http.get(f"{path}/explain", headers={"Accept": "text/plain"})
    assert text.headers["content-type"].startswith("text/plain")
    assert all(said in text.text for said in (told["why"]["reason"], *explained["settles"]))
    assert not (await http.get("/v1/doctor")).json()["ok"], "an uncertain job is trouble"
    problem(await http.post(f"{path}/resolve", json={"answer": "done"}), 422, "invalid_spec")
    problem(await http.post(f"{path}/retry"), 409, "not_in_this_phase")
    word = {"answer": "done", "outcome": "succeeded", "because": "the table is there"}
    assert (await http.post(f"{path}/resolve", json=word)).status_code == 202
    assert (await ended(http, told["uid"]))["outcome"] == "succeeded"
    (resolved,) = [e for e in (await http.get(f"{path}/events")).json()["items"] if e["type"] == "Resolved"]
    assert resolved["data"]["because"] == "the table is there" and resolved["actor"] == "local"
    problem(await http.post(f"{path}/resolve", json=word), 409, "already_final")


async def test_delete_removes_what_is_finished(http: Http) -> None:
    """
    204 for a finished job, 409 for one that is not, 404 afterwards.
    """
    running = await reached(http, (await made(http, "a", program=LONG))["uid"], "running")
    problem(await http.delete(f"/v1/jobs/{running['uid']}"), 409, "not_in_this_phase")
    done = await ended(http, (await made(http, "b"))["uid"])
    problem(await http.delete(f"/v1/jobs/{done['uid']}", headers={"If-Match": '"1"'}), 412, "revision_changed")
    gone = await http.delete(f"/v1/jobs/{done['uid']}")
    assert (gone.status_code, gone.content) == (204, b"")
    problem(await http.get(f"/v1/jobs/{done['uid']}"), 404, "job_not_found")


async def test_waiting_for_a_change_ends_with_it(http: Http) -> None:
    """
    The answer comes when the job moves, long before its timeout; at the timeout it comes as the job is.
    """
    told = await reached(http, (await made(http, program=LONG))["uid"], "running")
    query = {"wait": "change", "revision": told["revision"], "timeout": 30}
    held = asyncio.create_task(http.get(f"/v1/jobs/{told['uid']}", params=query))
    await made(http, "another")
    await asyncio.sleep(0.05)
    assert not held.done(), "what happens to another job is no change of this one"
    async with asyncio.timeout(10):
        await http.post(f"/v1/jobs/{told['uid']}/cancel")
        assert (await held).json()["revision"] > told["revision"]
    final = await ended(http, told["uid"])
    late = {"wait": "change", "revision": final["revision"], "timeout": 0.05}
    assert (await http.get(f"/v1/jobs/{told['uid']}", params=late)).json()["revision"] == final["revision"]
    problem(await http.get(f"/v1/jobs/{told['uid']}?wait=change"), 400, "invalid_query")
    problem(await http.get(f"/v1/jobs/{told['uid']}?wait=done&timeout=nan"), 400, "invalid_query")


async def test_many_wait_for_one_job(http: Http) -> None:
    """
    A hundred held-back answers all come, and leave nothing waiting behind.
    """
    told = await reached(http, (await made(http, program=LONG))["uid"], "running")
    path = f"/v1/jobs/{told['uid']}"
    held = [asyncio.create_task(http.get(path, params={"wait": "done", "timeout": 30})) for _ in range(100)]
    await asyncio.sleep(0.05)
    await http.post(f"{path}/cancel")
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*held)
    assert {answer.json()["phase"] for answer in answers} == {"cancelled"}


async def test_evidence_of_a_failure(http: Http) -> None:
    """
    A failed job says why, in the job, in the attempt and as evidence with its source.
    """
    failing = {"ending": "failed", "exit_code": 3}
    told = await ended(http, (await made(http, program=failing, spec={"retry": {"max_attempts": 1}}))["uid"])
    assert told["outcome"] == "failed"
    attempt = (await http.get(f"/v1/jobs/{told['uid']}/attempts/1")).json()
    assert attempt["failure"] and attempt["ending"] == "failed"
    evidence = (await http.get(f"/v1/jobs/{told['uid']}/evidence")).json()["items"]
    assert evidence and all(one["source"] and one["verdict"] and one["at"] for one in evidence)


async def test_counts_engines_and_doctor(http: Http) -> None:
    """
    Kept counters by any groups; engines with their slots; every check with its verdict.
    """
    await reached(http, (await made(http, "a", program=LONG))["uid"], "running")
    await ended(http, (await made(http, "b"))["uid"])
    by_phase = (await http.get("/v1/counts?by=phase")).json()["items"]
    assert {(one["phase"], one["count"]) for one in by_phase} == {("running", 1), ("succeeded", 1)}
    by_engine = (await http.get("/v1/counts?by=engine")).json()["items"]
    assert by_engine == [{"namespace": None, "engine": "fake", "queue": None, "phase": None, "count": 2}]
    problem(await http.get("/v1/counts?by=colour"), 400, "invalid_query")
    (engine,) = (await http.get("/v1/engines")).json()["items"]
    assert engine["name"] == "fake" and engine["reachable"] and engine["active"] == 1 and engine["slots"] > 0
    doctor = (await http.get("/v1/doctor")).json()
    assert doctor["ok"] and {check["name"] for check in doctor["checks"]} >= {"loop", "engine fake"}


async def test_a_job_that_waits_says_for_what(http: Http) -> None:
    """
    With every slot taken, `why` names the limit, how much of it is in use, and the job's place.
    """
    slots = (await http.get("/v1/engines")).json()["items"][0]["slots"]
    answer = await http.post("/v1/jobs/batch", json={"jobs": [job("busy", program=LONG)] * slots})
    for item in answer.json()["items"]:
        await reached(http, item["uid"], "running")
    waiting = await made(http, "late")
    why = (await http.get(f"/v1/jobs/{waiting['uid']}")).json()["why"]
    assert why["reason"] == "AwaitingTurn" and f"{slots} of {slots} slots of engine fake" in why["message"]
