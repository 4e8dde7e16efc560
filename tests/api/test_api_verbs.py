"""
Every verb in every phase: what `moves` allows is done, what it does not is refused or changes nothing.
"""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from api_driver import ended, made, reached
from test_api_submit import problem

from standfast.core.job.state import Phase

Http = httpx2.AsyncClient
LONG = {"run_s": 3600.0}
PATIENT = {"max_attempts": 2, "backoff_base_s": 3600.0, "backoff_cap_s": 3600.0, "on": ["user_error"]}

VERBS = ("cancel", "suspend", "resume", "resolve", "retry", "delete")
BODIES: dict[str, dict[str, Any]] = {
    "resolve": {"answer": "done", "outcome": "succeeded", "because": "the table is there"},
}
DONE = {"retry": 201, "delete": 204}


async def _in_phase(http: Http, phase: Phase) -> dict[str, Any]:
    """
    A job in that phase, and one that stays in it.
    """
    match phase:
        case Phase.QUEUED:
            told = await made(http, spec={"start_at": "2999-01-01T00:00:00Z"})
        case Phase.LAUNCHING:
            told = await made(http, program={"run_s": 3600.0, "starting_s": 3600.0})
        case Phase.STOPPING:
            told = await made(http, program={"run_s": 3600.0, "unkillable_s": 3600.0})
            await reached(http, told["uid"], "running")
            await http.post(f"/v1/jobs/{told['uid']}/cancel")
        case Phase.BACKING_OFF:
            told = await made(http, program={"fails": 1}, spec={"retry": PATIENT})
        case Phase.SUSPENDED:
            told = await made(http, spec={"suspend": True})
        case Phase.UNCERTAIN:
            told = await made(http, program={"ending": "unknown"})
        case Phase.RUNNING | Phase.CANCELLED:
            told = await made(http, program=LONG)
            if phase is Phase.CANCELLED:
                await http.post(f"/v1/jobs/{told['uid']}/cancel")
        case Phase.SUCCEEDED | Phase.FAILED:
            told = await made(http, program={"ending": phase.value})
    if phase.final:
        final = await ended(http, told["uid"])
        assert final["phase"] == phase
        return final
    return await reached(http, told["uid"], phase)


@pytest.mark.parametrize("phase", Phase)
async def test_moves_tell_what_each_verb_does(http: Http, phase: Phase) -> None:
    """
    An allowed verb is taken; one that is not is 409 with its code, or 202 and the job as it was.
    """
    for verb in VERBS:
        told = await _in_phase(http, phase)
        path = f"/v1/jobs/{told['uid']}"
        (move,) = [one for one in told["moves"] if one["verb"] == verb]
        assert (move.get("why") is None) == move["allowed"]
        if verb == "delete":
            answer = await http.delete(path)
        else:
            answer = await http.post(f"{path}/{verb}", json=BODIES.get(verb, {}))
        if move["allowed"]:
            assert answer.status_code == DONE.get(verb, 202), f"{verb} of {phase}: {answer.text}"
        elif answer.status_code == 202:
            assert answer.json()["revision"] == told["revision"], f"{verb} of {phase} did something"
        else:
            code = "already_final" if phase.final else "not_in_this_phase"
            assert problem(answer, 409, code)["hint"]


@pytest.mark.parametrize("phase", Phase)
async def test_every_view_of_every_phase_can_be_had(http: Http, phase: Phase) -> None:
    """
    Job, attempts, evidence, events and explanation answer in each phase, and name the same reason.
    """
    told = await _in_phase(http, phase)
    path = f"/v1/jobs/{told['uid']}"
    assert (await http.get(f"{path}/explain")).json()["why"]["reason"] == told["why"]["reason"]
    assert (told["next"] is None) == phase.final and (told["outcome"] is None) != phase.final
    attempts = (await http.get(f"{path}/attempts")).json()["items"]
    assert (told["attempt"] is None) == (attempts == [])
    evidence = (await http.get(f"{path}/evidence")).json()["items"]
    assert sum(len(one["evidence"]) for one in attempts) == len(evidence)
    events = (await http.get(f"{path}/events")).json()["items"]
    assert events[-1]["revision"] >= told["revision"]
    assert [one["uid"] for one in (await http.get("/v1/jobs", params={"phase": phase})).json()["items"]] == [
        told["uid"]
    ]


@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_on_nothing_is_not_found(http: Http, verb: str) -> None:
    """
    404 `job_not_found`, for every verb.
    """
    if verb == "delete":
        answer = await http.delete("/v1/jobs/job_none")
    else:
        answer = await http.post(f"/v1/jobs/job_none/{verb}", json=BODIES.get(verb, {}))
    problem(answer, 404, "job_not_found")
