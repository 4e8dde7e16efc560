"""
What nobody sends by accident: every such request gets an answer below 500, over both stores, and nothing breaks by it.
"""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
import pytest
from api_driver import ended, made, reached
from test_api_submit import problem

from standfast.settings import Settings
from standfast.wiring import Plane

Http = httpx2.AsyncClient
DEEP = '{"a":' * 900 + "1" + "}" * 900

SPECS = (
    '"start_at":"0001-01-01T00:00:00+14:00"',
    '"start_at":"2026-02-30T00:00:00Z"',
    '"ttl":{"record_s":3153600000}',
    '"deadline_s":1e400',
    '"priority":99999999999999999999999999999999',
    '"resources":{"memory_mib":9223372036854775807,"cpus":1e308}',
    '"resources":{"memory_mib":1e30}',
    '"failure_rules":[{"name":"x","failure_class":"dependency","code":"c","text":"("}]',
    '"exit_codes":{"-0":"dependency"}',
    '"program":{"run_s":1e999}',
    '"program":{"run_s":NaN}',
    '"program":{"fails":99999999999999999999999999999999}',
    '"program":{"output":"\\udfff"}',
    f'"program":{{"output":{DEEP}}}',
    '"queue":"\\u0000"',
    '"engine":"../../etc"',
)
BODIES = (
    *(f'{{"name":"a","spec":{{"engine":"fake",{spec}}}}}' for spec in SPECS),
    '{"name":"a","spec":{"engine":"fake"},"labels":{"a":"\\ud800"}}',
    '{"name":"a","spec":{"engine":"fake"},"labels":{"":""}}',
    '{"name":"a","spec":{"engine":"fake"},"request_id":"\\ud800"}',
    '{"name":"a","spec":{"engine":"fake"},"request_id":"\\u0000"}',
    '{"name":"a","spec":{"engine":"fake"},"namespace":null}',
    '{"name":"a","name":"b","spec":{"engine":"fake"}}',
    '\ufeff{"name":"a","spec":{"engine":"fake"}}',
    '{"name":"a","spec":{"engine":"fake"}} x',
    "null",
    '"x"',
    "\x00",
)
PATHS = (
    "/v1/jobs/%00",
    "/v1/jobs/%ff",
    "/v1/jobs/a%2Fb",
    "/v1/jobs/" + "x" * 5000,
    "/v1/jobs?name=%00",
    "/v1/jobs?name=%ff",
    "/v1/jobs?name_prefix=%25_",
    "/v1/jobs?name_prefix=%F4%8F%BF%BF",
    "/v1/jobs?label=a%3D%27%22%29%3B--",
    "/v1/jobs?label=%3D",
    "/v1/jobs?queue=&engine=&retry_of=",
    "/v1/jobs?fields=why..reason",
    "/v1/jobs?fields=.",
    "/v1/jobs?page_size=999999999999999999",
    "/v1/jobs?page_size=%D9%A3",
    "/v1/jobs?page_token=%00",
    "/v1/jobs?created_after=2026-01-01T00:00:00%2B99:99",
    "/v1/jobs?created_after=0001-01-01T00:00:00%2B14:00",
    "/v1/jobs?created_before=8999-01-01T00:00:00Z",
    "/v1/events?cursor=%D9%A3",
    "/v1/events?namespace=%00",
    "/v1/counts?by=,",
    "/v1/problems/%00",
    "/v1/blobs/sha256:..%2F..%2Fetc%2Fpasswd",
    "/v1/jobs/{uid}/attempts/-1",
    "/v1/jobs/{uid}/attempts/%C2%B2",
    "/v1/jobs/{uid}/attempts/" + "9" * 5000,
    "/v1/jobs/{uid}/logs?cursor=999999999999999999",
    "/v1/jobs/{uid}/logs?stream=..%2Fticket",
    "/v1/jobs/{uid}?wait=done&timeout=1e999",
    "/v1/jobs/{uid}?wait=done&timeout=-inf",
    "/v1/jobs/{uid}?wait=change&revision=999999999999999999&timeout=0",
)
CHANGES = (
    '{"set":{"engine":null}}',
    '{"set":{"":{}}}',
    '{"set":[]}',
    '{"set":{"program":{"a":"\\ud800"}}}',
    f'{{"set":{{"program":{{"output":{DEEP}}}}}}}',
    f'{{"set":{DEEP}}}',
    '{"set":{"ttl":{"record_s":-1}}}',
)


@pytest.fixture(params=["memory", "sqlite"])
def settings(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """
    A control plane over each store.
    """
    return msgspec.structs.replace(settings, store=request.param)


async def test_no_request_is_a_fault_of_ours(http: Http, plane: Plane) -> None:
    """
    None of these is 5xx, every refusal says what is wrong, and afterwards lists, counters and the loop still work.
    """
    uid = (await ended(http, (await made(http))["uid"]))["uid"]
    answers = [await http.post("/v1/jobs", content=body) for body in BODIES]
    answers += [await http.post("/v1/jobs/batch", content=f'{{"jobs":[{body}]}}') for body in BODIES]
    answers += [await http.get(path.format(uid=uid)) for path in PATHS]
    answers += [await http.post(f"/v1/jobs/{uid}/retry", content=body) for body in CHANGES]
    for answer in answers:
        assert answer.status_code < 500, f"{answer.url} {answer.request.content[:200]!r}: {answer.text}"
        if answer.status_code >= 400:
            assert answer.json()["detail"] and answer.json()["hint"]
    listed = (await http.get("/v1/jobs?page_size=1000")).json()
    assert listed["next_page_token"] is None
    counted = sum(one["count"] for one in (await http.get("/v1/counts")).json()["items"])
    assert counted == len(listed["items"])
    assert plane.loop.trouble is None
    await ended(http, (await made(http, "after"))["uid"])


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
async def test_a_time_at_the_end_of_times_holds_up_nobody(http: Http, plane: Plane) -> None:
    """
    Refused or kept, such a start time must not stop the loop for all others.
    """
    body = {"name": "a", "spec": {"engine": "fake", "start_at": "9999-12-31T23:59:59-12:00"}}
    await http.post("/v1/jobs", json=body)
    await ended(http, (await made(http))["uid"])
    assert plane.loop.trouble is None


@pytest.mark.parametrize(
    "key, status",
    [("", 422), ("   ", 422), ('""', 422), ("\x7f", 422), ("a" * 256, 422), ("a" * 255, 201), ('"a', 201), ("ü", 201)],
)
async def test_keys_are_printable_and_bounded(http: Http, key: str, status: int) -> None:
    """
    1 to 255 printable characters; what is refused is named as the header it came in.
    """
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answer = await http.post("/v1/jobs", json={"name": "a", "spec": {"engine": "fake"}}, headers=headers)
    if status == 422:
        assert problem(answer, 422, "invalid_spec")["errors"][0]["pointer"] == "Idempotency-Key"
    else:
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    "tag, fits",
    [('"{n}"', True), ('W/"{n}"', True), ("{n}", True), ("*", True), ('"1", "{n}"', True), ('"1"', False), ("", False)],
)
async def test_tags_in_every_spelling(http: Http, tag: str, fits: bool) -> None:
    """
    Quoted, weak, bare, any, one of a list; an empty one fits nothing.
    """
    told = await reached(http, (await made(http, program={"run_s": 3600}))["uid"], "running")
    headers = {"If-Match": tag.format(n=told["revision"])}
    answer = await http.post(f"/v1/jobs/{told['uid']}/cancel", headers=headers)
    if fits:
        assert answer.status_code == 202, answer.text
    else:
        problem(answer, 412, "revision_changed")


async def test_what_is_stored_is_what_was_sent(http: Http) -> None:
    """
    Text of any script, empty text and numbers at their bounds come back from the store unchanged.
    """
    output = "\x00 \x1b[31m <script> ' \" \\ ü 漢 𝄞 \u202e"
    spec: dict[str, Any] = {"priority": -1000, "deadline_s": 0.001, "start_at": "2999-12-31T23:59:59.999999+05:30"}
    told = await made(http, program={"output": output}, spec=spec, labels={"ü": "漢"})
    read = (await http.get(f"/v1/jobs/{told['uid']}")).json()
    assert read["spec"]["program"]["output"] == output and read["labels"] == {"ü": "漢"}
    assert read["spec"]["priority"] == -1000 and read["spec"]["deadline_s"] == 0.001
    assert (await http.get("/v1/jobs", params={"label": "ü=漢"})).json()["items"][0]["uid"] == told["uid"]


@pytest.mark.parametrize(
    "method, path, status, allow",
    [
        ("GET", "/v1/jobs/batch", 405, "POST"),
        ("POST", "/v1/jobs/x/attempts", 405, "GET, HEAD"),
        ("OPTIONS", "/v1/jobs", 405, "POST, GET, HEAD"),
        ("PATCH", "/v1/jobs/x", 405, "GET, DELETE, HEAD"),
        ("GET", "/v1/jobs/x/y", 404, None),
        ("GET", "/v1/jobs//attempts", 404, None),
        ("GET", "/v1/jobs/", 404, None),
        ("GET", "/v1", 404, None),
        ("GET", "/", 404, None),
        ("GET", "/v1/jobs/{uid}", 404, None),
    ],
)
async def test_paths_are_taken_by_the_letter(
    http: Http, method: str, path: str, status: int, allow: str | None
) -> None:
    """
    Given words win over parameters, a parameter is one segment that is not empty, and 405 tells what there is.
    """
    answer = await http.request(method, path)
    assert answer.status_code == status and answer.headers.get("allow") == allow
    assert answer.json()["instance"] == path
