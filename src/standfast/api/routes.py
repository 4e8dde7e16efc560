"""
The route table: every method on every path, with what it takes, answers and may refuse.

Routing, checks of query parameters and roles, OpenAPI and the reference page are all made from it.
"""

from __future__ import annotations

from standfast.api import commands, history, jobs, logs, server
from standfast.api.auth import Role
from standfast.api.problems import ProblemKind, ProblemKinds
from standfast.api.route import Param, Route
from standfast.wire import public

_WHOLE = {"type": "integer", "minimum": 0}
_TIME = {"type": "string", "format": "date-time"}

_NAMESPACE = Param("namespace", "Only of this namespace.")
_PHASE = Param("phase", "Only in these phases, separated by commas; `!` before a phase leaves it out.", many=True)
_FILTERS = (
    _NAMESPACE,
    _PHASE,
    Param("engine", "Only on these engines.", many=True),
    Param("queue", "Only of this queue."),
    Param("label", "Only with this label, as KEY=VALUE; given again, with that one too.", many=True),
    Param("name", "Only of this name."),
    Param("name_prefix", "Only with names that begin so."),
    Param("retry_of", "Only retries of this job."),
    Param("created_after", "Only made after this time.", _TIME),
    Param("created_before", "Only made before this time.", _TIME),
)
_PAGE = (
    Param("page_size", "Jobs a page, 100 if not given, at most 1000.", _WHOLE),
    Param("page_token", "Go on where the last page ended; bound to the filter."),
    Param("fields", "Only these fields of each job, as `uid,phase,why.reason`.", many=True),
)
_WAIT = (
    Param("wait", "Hold the answer until something changed, or the job is final.", {"enum": ["change", "done"]}),
    Param("revision", "With wait=change: the revision that you know.", _WHOLE),
    Param("timeout", "Hold it at most so many seconds, 30 if not given, at most 60.", {"type": "number", "minimum": 0}),
)
_EVENTS = (
    Param("after", "Events behind the one of this number.", _WHOLE),
    Param("cursor", "The same.", _WHOLE),
    Param("limit", "At most so many, 500 if not given.", {"type": "integer", "minimum": 1, "maximum": 1000}),
    Param("follow", "Stream events as they come (server-sent events).", {"enum": ["true", "false"]}),
)
_LOGS = (
    Param("attempt", "Of this attempt; the latest if not given.", {"type": "integer", "minimum": 1}),
    Param("stream", "`stdout` if not given.", {"enum": ["stdout", "stderr"]}),
    Param("cursor", "From this byte on.", _WHOLE),
    Param("tail", "Instead: the last so many bytes.", _WHOLE),
    Param("limit", "At most so many bytes.", {"type": "integer", "minimum": 1, "maximum": logs.LIMIT_MAX}),
    Param("follow", "Stream it, attempt after attempt, until the job is final.", {"enum": ["true", "false"]}),
)
_KEY = (Param("Idempotency-Key", "Names this request: sent again with the same body it gives the first answer."),)
_VERB_KEY = (Param("Idempotency-Key", "Taken, and not needed: a verb whose effect is there already changes nothing."),)
_IF_MATCH = (Param("If-Match", "Only if the job still has this revision."),)
_LAST_EVENT = (Param("Last-Event-ID", "Go on behind the event of this number."),)

_REQUEST = ("invalid_json", "invalid_spec", "body_too_large", "unsupported_media_type", "request_timeout")
_STORE = ("store_unavailable", "store_full", "store_busy")
_SUBMIT = (*_REQUEST, *_STORE, "idempotency_key_reused")
_COMMAND = (*_REQUEST, *_STORE, "job_not_found", "not_in_this_phase", "already_final", "revision_changed")
_EVENT_ANSWERS: dict[int, tuple[type | str, ...]] = {200: (public.EventPage, "text/event-stream")}
_TAG = {"ETag": "The job's revision, in quotes."}
_MADE = {
    **_TAG,
    "Location": "Path of the job.",
    "Idempotent-Replayed": "`true` if this request id had made the job before.",
}
_LOG_PLACE = {
    "Next-Cursor": "Where to read on.",
    "Log-Offset": "Byte of the output at which this piece begins.",
    "Log-Size": "Bytes of output known so far.",
    "Log-Ended": "`true` if no more will come.",
    "Log-Attempt": "Number of the attempt.",
}

JOB = "/v1/jobs/{uid}"

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/jobs",
        jobs.submit,
        "Accept a job; the answer is sent once it is durable.",
        Role.OPERATOR,
        params=(Param("dry_run", "Check and plan only; nothing is stored.", {"enum": ["true", "false"]}),),
        headers=_KEY,
        body=public.SubmitBody,
        answers={201: (public.JobAnswer,), 200: (public.JobAnswer, public.PlanAnswer)},
        sends=_MADE,
        codes=_SUBMIT,
    ),
    Route(
        "GET",
        "/v1/jobs",
        jobs.page,
        "List jobs, newest first.",
        params=(*_FILTERS, *_PAGE),
        answers={200: (public.JobPage, public.PartialJobPage)},
        codes=("page_token_mismatch",),
    ),
    Route(
        "POST",
        "/v1/jobs/batch",
        jobs.submit_batch,
        "Accept many jobs with one flush, each by itself.",
        Role.OPERATOR,
        body=public.BatchBody,
        answers={200: (public.BatchAnswer,)},
        codes=(*_REQUEST, *_STORE),
    ),
    Route(
        "GET",
        JOB,
        jobs.read,
        "Read a job, at once or when it has changed.",
        params=_WAIT,
        answers={200: (public.JobAnswer,)},
        sends=_TAG,
        codes=("job_not_found",),
    ),
    Route(
        "DELETE",
        JOB,
        jobs.delete,
        "Remove a finished job, its output and its record, for good.",
        Role.ADMIN,
        headers=_IF_MATCH,
        answers={204: ()},
        codes=("job_not_found", "not_in_this_phase", "revision_changed", "engine_unreachable", *_STORE),
    ),
    Route(
        "POST",
        f"{JOB}/cancel",
        commands.cancel,
        "End a job; done when nothing of it is alive.",
        Role.OPERATOR,
        headers=(*_IF_MATCH, *_VERB_KEY),
        body=public.ReasonBody,
        answers={202: (public.JobAnswer,)},
        sends=_TAG,
        codes=_COMMAND,
    ),
    Route(
        "POST",
        f"{JOB}/suspend",
        commands.suspend,
        "Stop what runs and start nothing until resumed.",
        Role.OPERATOR,
        headers=(*_IF_MATCH, *_VERB_KEY),
        body=public.ReasonBody,
        answers={202: (public.JobAnswer,)},
        sends=_TAG,
        codes=_COMMAND,
    ),
    Route(
        "POST",
        f"{JOB}/resume",
        commands.resume,
        "Let a suspended job wait for its turn.",
        Role.OPERATOR,
        headers=(*_IF_MATCH, *_VERB_KEY),
        body=public.ReasonBody,
        answers={202: (public.JobAnswer,)},
        sends=_TAG,
        codes=_COMMAND,
    ),
    Route(
        "POST",
        f"{JOB}/resolve",
        commands.resolve,
        "Settle an uncertain job by your word, which is recorded as such.",
        Role.ADMIN,
        headers=(*_IF_MATCH, *_VERB_KEY),
        body=public.ResolveBody,
        answers={202: (public.JobAnswer,)},
        sends=_TAG,
        codes=_COMMAND,
    ),
    Route(
        "POST",
        f"{JOB}/retry",
        commands.retry,
        "Make a new job like a finished one, with changes.",
        Role.OPERATOR,
        headers=_KEY,
        body=public.RetryBody,
        answers={201: (public.JobAnswer,), 200: (public.JobAnswer,)},
        sends=_MADE,
        codes=(*_SUBMIT, "job_not_found", "not_in_this_phase"),
    ),
    Route(
        "GET",
        f"{JOB}/attempts",
        history.attempts,
        "Every attempt with its evidence.",
        answers={200: (public.Attempts,)},
        codes=("job_not_found",),
    ),
    Route(
        "GET",
        f"{JOB}/attempts/{{number}}",
        history.attempt,
        "One attempt with its evidence.",
        answers={200: (public.AttemptAnswer,)},
        codes=("job_not_found", "attempt_not_found"),
    ),
    Route(
        "GET",
        f"{JOB}/evidence",
        history.evidence,
        "Every piece of evidence of every attempt.",
        answers={200: (public.EvidenceList,)},
        codes=("job_not_found",),
    ),
    Route(
        "GET",
        f"{JOB}/events",
        history.job_events,
        "What happened to the job, as a page or a stream.",
        params=_EVENTS,
        headers=_LAST_EVENT,
        answers=_EVENT_ANSWERS,
        codes=("job_not_found", "cursor_expired"),
    ),
    Route(
        "GET",
        f"{JOB}/explain",
        history.explain,
        "Why it is as it is, and what would settle a doubt; as JSON or text/plain.",
        answers={200: (public.Explanation, "text/plain")},
        codes=("job_not_found",),
    ),
    Route(
        "GET",
        f"{JOB}/logs",
        logs.read,
        "Output of an attempt from an offset, or followed.",
        params=_LOGS,
        headers=(Param("Last-Event-ID", "With follow: go on behind this output event, as ATTEMPT:BYTE."),),
        answers={200: ("text/plain", "text/event-stream")},
        sends=_LOG_PLACE,
        codes=("job_not_found", "attempt_not_found", "logs_not_found", "logs_gone", "engine_unreachable"),
    ),
    Route(
        "GET",
        "/v1/events",
        history.all_events,
        "What happened to all jobs, as a page or a stream.",
        params=(*_EVENTS, _NAMESPACE),
        headers=_LAST_EVENT,
        answers=_EVENT_ANSWERS,
        codes=("cursor_expired",),
    ),
    Route(
        "GET",
        "/v1/blobs/{digest}",
        history.blob,
        "A piece of evidence whole, where the record holds its end only.",
        answers={200: ("text/plain",)},
        codes=("not_found", "blob_not_found", "blob_unreadable", "blob_corrupt"),
    ),
    Route(
        "POST",
        "/v1/plans",
        jobs.plan,
        "What a submission would do, and the exact engine call; nothing is stored or sent.",
        body=public.SubmitBody,
        answers={200: (public.PlanAnswer,)},
        codes=_REQUEST,
    ),
    Route(
        "GET",
        "/v1/counts",
        server.counts,
        "How many jobs there are, from kept counters.",
        params=(Param("by", "Grouped by any of namespace, engine, queue, phase.", many=True),),
        answers={200: (public.Counts,)},
    ),
    Route(
        "GET", "/v1/engines", server.engines, "The engines, and whether they answer.", answers={200: (public.Engines,)}
    ),
    Route("GET", "/v1/doctor", server.doctor, "Checks of this control plane.", answers={200: (public.Doctor,)}),
    Route("GET", "/v1/problems", server.problems, "Every error code.", answers={200: (ProblemKinds,)}),
    Route(
        "GET",
        "/v1/problems/{code}",
        server.problem,
        "One error code.",
        answers={200: (ProblemKind,)},
        codes=("not_found",),
    ),
    Route("GET", "/healthz", server.health, "This process answers.", None, answers={200: ("text/plain",)}),
    Route(
        "GET",
        "/readyz",
        server.ready,
        "The store answers and the loop works.",
        None,
        answers={200: ("text/plain",)},
        codes=("unavailable", "store_unavailable"),
    ),
    Route(
        "GET",
        "/openapi.json",
        server.description,
        "This interface, as OpenAPI 3.1.",
        None,
        answers={200: ("application/json",)},
    ),
    Route("GET", "/metrics", server.metrics, "Figures for Prometheus.", answers={200: ("text/plain",)}),
)
