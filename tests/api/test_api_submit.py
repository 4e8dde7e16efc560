"""
Accepting work: once per request id, the same for the same meaning, refused with the place of every mistake.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import msgspec
import pytest
from api_driver import job, made

from standfast.api import jobs as handlers
from standfast.api.bounds import BodyTooLarge
from standfast.settings import Settings
from standfast.wiring import Plane

Http = httpx2.AsyncClient


def problem(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """
    The problem document, which every refusal is.
    """
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["code"] == code
    assert {"type", "title", "status", "detail", "hint", "retry", "instance", "request_id"} <= told.keys()
    return dict(told)


async def test_a_job_is_made_and_can_be_read_where_the_answer_says(http: Http) -> None:
    """
    201 with Location and the revision as ETag; the same document is at that place.
    """
    answer = await http.post("/v1/jobs", json=job("one", labels={"team": "a"}))
    assert answer.status_code == 201
    told = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{told['uid']}"
    assert answer.headers["etag"] == f'"{told["revision"]}"'
    assert told["kind"] == "job" and told["created_by"] == "local" and told["labels"] == {"team": "a"}
    assert told["created_at"].endswith("Z") and told["why"]["reason"]
    assert {move["verb"] for move in told["moves"]} == {"cancel", "suspend", "resume", "resolve", "retry", "delete"}
    read = (await http.get(answer.headers["location"])).json()
    assert read["uid"] == told["uid"] and read["spec_digest"] == told["spec_digest"]


@pytest.mark.parametrize("key", ['"orders-2026-11-30"', "orders-2026-11-30"])
async def test_a_replay_gives_the_first_answer(http: Http, key: str) -> None:
    """
    Quoted and bare keys are one key; the second answer is 200 and says that it is a replay.
    """
    first = await http.post("/v1/jobs", json=job(), headers={"Idempotency-Key": "orders-2026-11-30"})
    again = await http.post("/v1/jobs", json=job(), headers={"Idempotency-Key": key})
    assert (first.status_code, again.status_code) == (201, 200)
    assert "idempotent-replayed" not in first.headers and again.headers["idempotent-replayed"] == "true"
    assert again.json()["uid"] == first.json()["uid"]


async def test_header_and_body_name_the_same_thing(http: Http) -> None:
    """
    `request_id` in the body is the header's twin; two different ones are refused before anything is stored.
    """
    first = await http.post("/v1/jobs", json=job(request_id="r-1"))
    again = await http.post("/v1/jobs", json=job(request_id="r-1"), headers={"Idempotency-Key": "r-1"})
    assert again.json()["uid"] == first.json()["uid"]
    torn = await http.post("/v1/jobs", json=job(request_id="r-2"), headers={"Idempotency-Key": "r-3"})
    assert problem(torn, 422, "invalid_spec")["errors"][0]["pointer"] == "/request_id"


async def test_the_order_of_keys_and_defaults_written_out_change_nothing(http: Http) -> None:
    """
    What is compared is the meaning: keys in another order, and a default that is said, make the same digest.
    """
    body = job(spec={"retry": {"max_attempts": 2}}, program={"run_s": 0.0, "output": "x"})
    other = {"spec": {k: body["spec"][k] for k in reversed(body["spec"])}, "namespace": "default", "name": "one"}
    other["spec"]["priority"] = 0
    headers = {"Idempotency-Key": "k"}
    first = await http.post("/v1/jobs", content=json.dumps(body), headers=headers)
    again = await http.post("/v1/jobs", content=json.dumps(other), headers=headers)
    assert (first.status_code, again.status_code) == (201, 200), again.text


async def test_another_body_under_a_used_key_is_refused_with_both_digests(http: Http) -> None:
    """
    422, the holder and both digests; the job is as it was.
    """
    first = await http.post("/v1/jobs", json=job(), headers={"Idempotency-Key": "k"})
    other = await http.post("/v1/jobs", json=job(spec={"priority": 1}), headers={"Idempotency-Key": "k"})
    told = problem(other, 422, "idempotency_key_reused")
    assert told["holder"] == {"kind": "job", "uid": first.json()["uid"]}
    assert told["stored_digest"] == first.json()["spec_digest"] != told["given_digest"]
    assert len((await http.get("/v1/jobs")).json()["items"]) == 1


async def test_fifty_at_once_make_one_job(http: Http) -> None:
    """
    One 201, forty-nine replays, one uid.
    """
    headers = {"Idempotency-Key": "k"}
    answers = await asyncio.gather(*(http.post("/v1/jobs", json=job(), headers=headers) for _ in range(50)))
    assert sorted(answer.status_code for answer in answers) == [200] * 49 + [201]
    assert len({answer.json()["uid"] for answer in answers}) == 1


async def test_a_refused_request_does_not_use_up_its_key(http: Http) -> None:
    """
    After a 422 the same key takes the mended body.
    """
    headers = {"Idempotency-Key": "k"}
    problem(await http.post("/v1/jobs", json=job(name="No Name"), headers=headers), 422, "invalid_spec")
    assert (await http.post("/v1/jobs", json=job(), headers=headers)).status_code == 201


@pytest.mark.parametrize(
    "body, pointer",
    [
        (job(colour="red"), ""),
        (job(spec={"retries": 3}), "/spec"),
        (job(spec={"retry": {"max_attempts": 0}}), "/spec/retry/max_attempts"),
        (job(spec={"priority": "high"}), "/spec/priority"),
        (job(spec={"start_at": "9999-12-31T23:59:59-23:59"}), "/spec/start_at"),
        (job(spec={"start_at": "0001-01-01T00:00:00+23:59"}), "/spec/start_at"),
        (job(spec={"engine": "nobody"}), "/spec/engine"),
        (job(program={"run": 1}), "/spec/program"),
        (job(labels={"a=b": "c"}), "/labels/a=b"),
        ({"spec": {}}, ""),
        ([], ""),
    ],
)
async def test_every_mistake_has_its_pointer(http: Http, body: Any, pointer: str) -> None:
    """
    Unknown, missing, mistyped and impossible fields are 422 with a JSON pointer.
    """
    told = problem(await http.post("/v1/jobs", json=body), 422, "invalid_spec")
    assert told["errors"][0]["pointer"] == pointer
    assert told["retry"] == "after_fix"


@pytest.mark.parametrize(
    "content, kind, status, code",
    [
        (b"{", "application/json", 400, "invalid_json"),
        (b"", "application/json", 400, "invalid_json"),
        (b'{"name":"\xff"}', "application/json", 400, "invalid_json"),
        (b'{"name":"a","spec":{"program":{"a":' + b"[" * 100_000, "application/json", 400, "invalid_json"),
        (b"a: &a [*a]", "application/yaml", 400, "invalid_json"),
        (b"a: !!python/object:os.system {}", "application/yaml", 400, "invalid_json"),
        (b"{a: 1, a: 2}", "application/yaml", 400, "invalid_json"),
        (b"- " * 5_000, "application/yaml", 400, "invalid_json"),
        (b"x: .nan", "application/yaml", 400, "invalid_json"),
        (b"name=one", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b"{}", "text/plain", 415, "unsupported_media_type"),
    ],
)
async def test_what_cannot_be_read_is_said_so(http: Http, content: bytes, kind: str, status: int, code: str) -> None:
    """
    Broken JSON, broken or dangerous YAML, and other types of content are refused by their own codes.
    """
    answer = await http.post("/v1/jobs", content=content, headers={"Content-Type": kind})
    problem(answer, status, code)


async def test_no_depth_of_nesting_breaks_anything(http: Http) -> None:
    """
    A program nested as deeply as can be read is also stored and read back, or refused; never a fault of ours.
    """
    for depth in (100, 400, 700, 850, 900, 950, 980, 1000, 1100):
        nested = b'{"name":"a","spec":{"engine":"fake","program":{"output":' + b"[" * depth + b"]" * depth + b"}}}"
        assert (await http.post("/v1/jobs", content=nested)).status_code in (400, 422), depth


async def test_yaml_says_what_json_would(http: Http) -> None:
    """
    A YAML body makes the job that the same JSON makes: under one key it is a replay.
    """
    text = b"# nightly\nname: one\nspec:\n  engine: fake\n  program: {output: on}\n"
    headers = {"Idempotency-Key": "k"}
    first = await http.post("/v1/jobs", content=text, headers={**headers, "Content-Type": "application/yaml"})
    again = await http.post("/v1/jobs", json=job(program={"output": "on"}), headers=headers)
    assert (first.status_code, again.status_code) == (201, 200), first.text


@pytest.mark.parametrize("path", ["/v1/plans", "/v1/jobs?dry_run=true"])
async def test_a_plan_shows_the_call_and_stores_nothing(http: Http, path: str) -> None:
    """
    200 with the exact engine call, after all checks of a real submission.
    """
    answer = await http.post(path, json=job(program={"run_s": 1.0}))
    assert answer.status_code == 200
    assert answer.json()["engine_call"] and answer.json()["handle"].startswith("sf-")
    problem(await http.post(path, json=job(spec={"engine": "nobody"})), 422, "invalid_spec")
    assert (await http.get("/v1/jobs")).json()["items"] == []


async def test_each_job_of_a_batch_stands_by_itself(http: Http) -> None:
    """
    Sound ones are made, wrong ones refused in their place, and a repeated batch is all replays.
    """
    body = {
        "jobs": [
            job("a", request_id="a"),
            job("b", request_id="b", colour="red"),
            job("c", request_id="c", spec={"engine": "nobody"}),
            job("a", request_id="a"),
            job("d", request_id="a"),
        ]
    }
    answer = await http.post("/v1/jobs/batch", json=body)
    assert answer.status_code == 200
    items = answer.json()["items"]
    assert [item["status"] for item in items] == [201, 422, 422, 200, 422]
    assert items[0]["uid"] == items[3]["uid"] and items[3]["replayed"]
    assert items[1]["problem"]["code"] == "invalid_spec"
    assert items[2]["problem"]["errors"][0]["pointer"] == "/spec/engine"
    assert items[4]["problem"]["code"] == "idempotency_key_reused"
    again = (await http.post("/v1/jobs/batch", json=body)).json()["items"]
    assert [item["status"] for item in again] == [200, 422, 422, 200, 422]
    assert (await http.post("/v1/jobs/batch", json={"jobs": []})).json() == {"items": []}


async def test_a_batch_is_bounded(http: Http) -> None:
    """
    More than a thousand jobs are refused as a whole, before any is looked at.
    """
    body = {"jobs": [job()] * (handlers.BATCH_MAX + 1)}
    told = problem(await http.post("/v1/jobs/batch", json=body), 422, "invalid_spec")
    assert told["errors"][0]["pointer"] == "/jobs"


class TestSmallBodies:
    """
    A control plane that takes 2 kB.
    """

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """
        As above.
        """
        return msgspec.structs.replace(settings, body_bytes_max=2048)

    async def test_a_large_body_is_refused(self, http: Http, plane: Plane) -> None:
        """
        413, told by its length and, without one, by what comes; nothing is stored.
        """
        large = json.dumps(job(program={"output": "x" * 4096})).encode()
        problem(await http.post("/v1/jobs", content=large), 413, BodyTooLarge.code)

        async def by_pieces() -> Any:
            for begin in range(0, len(large), 512):
                yield large[begin : begin + 512]

        problem(await http.post("/v1/jobs", content=by_pieces()), 413, BodyTooLarge.code)
        assert (await plane.world.catalogue.newest_seq()) == 0


async def test_a_retry_is_a_new_job(http: Http) -> None:
    """
    Of a finished job only; with `retry_of`, with changes merged in, once per request id.
    """
    running = await made(http, "one", program={"run_s": 3600})
    problem(await http.post(f"/v1/jobs/{running['uid']}/retry"), 409, "not_in_this_phase")
    await http.post(f"/v1/jobs/{running['uid']}/cancel")
    await http.get(f"/v1/jobs/{running['uid']}", params={"wait": "done"})
    change = {"set": {"program": {"run_s": None}}, "request_id": "again"}
    first = await http.post(f"/v1/jobs/{running['uid']}/retry", json=change)
    assert first.status_code == 201, first.text
    assert first.json()["retry_of"] == running["uid"] and first.json()["spec"].get("program", {}) == {}
    again = await http.post(f"/v1/jobs/{running['uid']}/retry", json=change)
    assert (again.status_code, again.json()["uid"]) == (200, first.json()["uid"])
    wrong = await http.post(f"/v1/jobs/{running['uid']}/retry", json={"set": {"priority": "high"}})
    assert problem(wrong, 422, "invalid_spec")["errors"][0]["pointer"] == "/set/priority"
