"""
Lost answers: what is sent again, for how long, and what the caller hears.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx2
import msgspec
import pytest

from standfast.client import BadAnswer, Client, Conflict, Gone, NoAnswer, Spec, Unavailable
from standfast.client.sync import Client as SyncClient

JOB = {
    "kind": "job",
    "uid": "job_x",
    "name": "n",
    "namespace": "default",
    "revision": 1,
    "phase": "succeeded",
    "why": {"reason": "Succeeded", "message": "", "since": "2026-11-30T12:00:00Z"},
    "created_at": "2026-11-30T12:00:00Z",
}


def client_of(
    answers: list[Callable[[httpx2.Request], httpx2.Response]], **options: object
) -> tuple[Client, list[httpx2.Request]]:
    """
    A client whose requests are answered by the callables in turn, the last one for ever; and what was sent.
    """
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return answers[min(len(seen), len(answers)) - 1](request)

    given: dict[str, object] = {"retry_for_s": 5.0, **options}
    return SyncClient("http://plane", transport=httpx2.MockTransport(answer), **given), seen  # type: ignore[arg-type]


def ok(request: httpx2.Request) -> httpx2.Response:
    """
    The job.
    """
    return httpx2.Response(201, json=JOB)


def lost(request: httpx2.Request) -> httpx2.Response:
    """
    The request left, the answer did not come.
    """
    raise httpx2.ReadTimeout("no reply")


def refused(request: httpx2.Request) -> httpx2.Response:
    """
    Nobody listens.
    """
    raise httpx2.ConnectError("connection refused")


def problem(status: int, code: str, retry: str = "never") -> Callable[[httpx2.Request], httpx2.Response]:
    """
    A problem document.
    """
    body = {"code": code, "title": code, "status": status, "detail": f"it is {code}", "hint": "h", "retry": retry}
    return lambda request: httpx2.Response(status, json=body)


def test_a_change_is_sent_again_with_the_same_id_and_bytes() -> None:
    """
    Whatever was lost, every try carries the same request id and the same body.
    """
    sf, seen = client_of([lost, problem(503, "store_unavailable", "same_request"), refused, ok])
    job = sf.jobs.run(Spec.process(["true"], name="n"))

    assert job.uid == "job_x"
    assert len(seen) == 4
    assert len({r.headers["idempotency-key"] for r in seen}) == 1
    assert len({r.content for r in seen}) == 1


def test_no_answer_carries_the_request_id() -> None:
    """
    The caller can send the same again later.
    """
    sf, seen = client_of([lost], retry_for_s=0.3)
    with pytest.raises(NoAnswer) as caught:
        sf.jobs.run(Spec.process(["true"], name="n"), key="my-key")

    assert caught.value.request_id == "my-key" and caught.value.retry == "same_request"
    assert caught.value.sent and len(seen) > 1


def test_a_server_that_was_never_reached_got_nothing() -> None:
    """
    The error says that nothing was sent.
    """
    sf, _ = client_of([refused], retry_for_s=0.0)
    with pytest.raises(NoAnswer) as caught:
        sf.jobs.run(Spec.process(["true"], name="n"))

    assert not caught.value.sent and "nothing was sent" in caught.value.message


def test_a_refusal_is_not_repeated() -> None:
    """
    409 and its like come back at once, with code, hint and document.
    """
    sf, seen = client_of([problem(409, "not_in_this_phase")])
    with pytest.raises(Conflict) as caught:
        sf.jobs.cancel("job_x")

    assert len(seen) == 1
    assert (caught.value.code, caught.value.hint, caught.value.status) == ("not_in_this_phase", "h", 409)


def test_unavailable_ends_as_what_it_is_when_the_time_is_over() -> None:
    """
    The last answer is the error, not a silence that did not happen.
    """
    sf, _ = client_of([problem(503, "store_full", "same_request")], retry_for_s=0.2)
    with pytest.raises(Unavailable) as caught:
        sf.jobs.run(Spec.process(["true"], name="n"))

    assert caught.value.code == "store_full"


def test_a_delete_whose_answer_was_lost_is_done_when_nothing_is_there() -> None:
    """
    Not found after a try that had left means that it had worked; not found at once is an error.
    """
    sf, _ = client_of([lost, problem(404, "job_not_found")])
    sf.jobs.delete("job_x")
    other, _ = client_of([problem(410, "gone")])
    with pytest.raises(Gone):
        other.jobs.delete("job_x")


def test_something_else_at_that_address_is_no_control_plane() -> None:
    """
    HTML from a proxy is a BadAnswer, and a plain 502 is Unavailable.
    """
    sf, _ = client_of([lambda r: httpx2.Response(200, text="<html>hello</html>")])
    with pytest.raises(BadAnswer):
        sf.jobs.get("job_x")
    other, _ = client_of([lambda r: httpx2.Response(502, text="bad gateway")], retry_for_s=0.0)
    with pytest.raises(Unavailable):
        other.jobs.get("job_x")


def test_a_wait_with_an_end_does_not_outwait_it_by_far() -> None:
    """
    A control plane that is gone keeps the caller as long as a question would, not as long as a change.
    """
    running = {**JOB, "phase": "running"}
    sf, _ = client_of([lambda r: httpx2.Response(200, json=running), refused], retry_for_s=30.0)
    begun = time.monotonic()
    with pytest.raises(NoAnswer):
        sf.jobs.wait("job_x", timeout=0.5)

    assert time.monotonic() - begun < 6.0


def test_breaks_are_told() -> None:
    """
    Whoever wants to know hears of silence and of its end.
    """
    told: list[str] = []
    sf, _ = client_of([lost, lost, ok], told=told.append)
    sf.jobs.run(Spec.process(["true"], name="n"))

    assert len(told) == 2 and "answers again" in told[1]


def test_unknown_words_and_fields_are_taken() -> None:
    """
    A newer server's phases and fields do not break this client.
    """
    newer = {**JOB, "phase": "hibernating", "mood": {"good": True}}
    sf, _ = client_of([lambda r: httpx2.Response(200, content=msgspec.json.encode(newer))])

    assert sf.jobs.get("job_x").phase == "hibernating"


def test_a_broken_stream_resumes_behind_the_last_event() -> None:
    """
    Last-Event-ID names what was seen; a doubled event is shown once.
    """

    def stream(*numbers: int) -> Callable[[httpx2.Request], httpx2.Response]:
        text = "".join(
            f'id: {n}\ndata: {{"seq": {n}, "uid": "job_x", "type": "T", "at": "2026-11-30T12:00:00Z"}}\n\n'
            for n in numbers
        )
        return lambda r: httpx2.Response(200, text=text, headers={"content-type": "text/event-stream"})

    sf, seen = client_of([stream(5, 6), refused, stream(6, 7)])
    events = sf.watch(cursor="4")
    numbers = [next(events).seq for _ in range(3)]

    assert numbers == [5, 6, 7]
    assert [r.headers.get("last-event-id") for r in seen] == ["4", "6", "6"]


def test_a_refusal_for_now_is_told_as_what_it_is() -> None:
    """
    A 503 is an answer: its own reason is told while the request is repeated, and no silence is claimed.
    """
    told: list[str] = []
    full = problem(503, "store_full", "same_request")
    sf, _ = client_of([full, full, full, ok], told=told.append)
    sf.jobs.run(Spec.process(["true"], name="n"))

    assert len(told) == 2 and "it is store_full [store_full]" in told[0] and "answers again" in told[1]
    assert not any("no answer" in sentence for sentence in told)


def test_a_refusal_for_now_carries_the_callers_request_id() -> None:
    """
    The one to send again under, not the one that the control plane wrote into its log; and when, if that is said.
    """
    body = {"code": "store_full", "detail": "full", "retry": "same_request", "request_id": "of-its-log"}
    sf, _ = client_of([lambda r: httpx2.Response(503, json=body, headers={"retry-after": "7"})], retry_for_s=0.0)
    with pytest.raises(Unavailable) as caught:
        sf.jobs.run(Spec.process(["true"], name="n"), key="mine")

    assert (caught.value.request_id, caught.value.retry_after_s) == ("mine", 7.0)
    with pytest.raises(Unavailable) as caught:
        sf.jobs.get("job_x")

    assert caught.value.request_id is None


def test_a_proxys_refusal_keeps_its_retry_after() -> None:
    """
    Also without a problem document.
    """
    sf, _ = client_of([lambda r: httpx2.Response(503, text="busy", headers={"retry-after": "9"})], retry_for_s=0.0)
    with pytest.raises(Unavailable) as caught:
        sf.jobs.get("job_x")

    assert caught.value.retry_after_s == 9.0
