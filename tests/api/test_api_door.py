"""
The door: who may come in, from where, how often, and what is said to those who may not.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import msgspec
import pytest
from api_driver import ADDRESS, client_of, job, made
from test_api_submit import problem

from standfast.api import auth, bounds, door
from standfast.api.auth import Role, Token, Tokens, TokensFile, authorize, digest_of, write_tokens
from standfast.api.bounds import Buckets
from standfast.api.problems import CATALOGUE, Throttled
from standfast.api.routes import ROUTES
from standfast.core.errors import Forbidden, InvalidSpec, StandfastError, Unavailable
from standfast.settings import Settings
from standfast.wiring import Plane, control_plane

Http = httpx2.AsyncClient
SECRETS = {role: f"secret-of-{role.name.lower()}" for role in Role}


def _write(path: Path, roles: list[Role] | None = None) -> None:
    tokens = tuple(
        Token(name=role.name.lower(), role=role.name.lower(), digest=digest_of(SECRETS[role])) for role in roles or Role
    )
    write_tokens(path, TokensFile(tokens=tokens))


class TestTokens:
    """
    A control plane with a token of each role.
    """

    @pytest.fixture
    def settings(self, settings: Settings, tmp_path: Path) -> Settings:
        """
        As above.
        """
        _write(tmp_path / "tokens.json")
        return msgspec.structs.replace(settings, tokens_file=str(tmp_path / "tokens.json"))

    @pytest.fixture
    async def admin(self, plane: Plane) -> AsyncIterator[Http]:
        """
        A client that may do everything.
        """
        async with client_of(plane.app, authorization=f"Bearer {SECRETS[Role.ADMIN]}") as client:
            yield client

    async def test_every_route_asks_for_its_role(self, plane: Plane, http: Http) -> None:
        """
        Each route by each caller: without a token 401, below its role 403, else anything but these two.
        """
        for route in ROUTES:
            path = route.path.format(uid="job_none", number="1", code="x", digest="x")
            for role in (None, *Role):
                headers = {"Authorization": f"Bearer {SECRETS[role]}"} if role else {}
                body = "{}" if route.method == "POST" else None
                answer = await http.request(route.method, path, headers=headers, content=body)
                told = (route.method, path, role, answer.status_code, answer.text)
                if route.role is not None and role is None:
                    assert answer.status_code == 401, told
                    assert problem(answer, 401, "unauthenticated")
                    assert answer.headers["www-authenticate"].startswith("Bearer")
                elif route.role is not None and role is not None and role < route.role:
                    assert problem(answer, 403, "forbidden"), told
                else:
                    assert answer.status_code not in (401, 403), told
                assert answer.status_code < 500, told

    @pytest.mark.parametrize(
        "header", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic {secret}", "{secret}", "Bearer {secret}x"]
    )
    async def test_nothing_else_is_a_token(self, http: Http, header: str) -> None:
        """
        Another scheme, a part of a token or a wrong one: 401, and the answer holds nothing of what was sent.
        """
        sent = header.format(secret=SECRETS[Role.ADMIN])
        answer = await http.get("/v1/jobs", headers={"Authorization": sent})
        problem(answer, 401, "unauthenticated")
        assert SECRETS[Role.ADMIN] not in answer.text

    async def test_the_token_s_name_is_on_record(self, admin: Http) -> None:
        """
        Who submitted and who cancelled is in job and events.
        """
        told = await made(admin, program={"run_s": 3600.0})
        assert told["created_by"] == "admin"
        await admin.post(f"/v1/jobs/{told['uid']}/cancel")
        events = (await admin.get(f"/v1/jobs/{told['uid']}/events")).json()["items"]
        assert events[0]["actor"] == "admin"

    async def test_a_new_tokens_file_counts_at_once(
        self, http: Http, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        A token that is taken out lets nobody in any more; a broken or missing file lets nobody in at all, as 503.
        """
        monkeypatch.setattr(auth, "LOOK_S", 0.0)
        headers = {"Authorization": f"Bearer {SECRETS[Role.VIEWER]}"}
        assert (await http.get("/v1/jobs", headers=headers)).status_code == 200
        _write(tmp_path / "tokens.json", [Role.ADMIN])
        problem(await http.get("/v1/jobs", headers=headers), 401, "unauthenticated")
        (tmp_path / "tokens.json").write_text("{")
        problem(await http.get("/v1/jobs", headers=headers), 503, "unavailable")
        (tmp_path / "tokens.json").unlink()
        problem(await http.get("/v1/jobs", headers=headers), 503, "unavailable")
        _write(tmp_path / "tokens.json")
        assert (await http.get("/v1/jobs", headers=headers)).status_code == 200

    async def test_a_new_tokens_file_is_looked_for_all_the_time(self, http: Http, tmp_path: Path) -> None:
        """
        Under steady load too, though not for each request.
        """
        headers = {"Authorization": f"Bearer {SECRETS[Role.VIEWER]}"}
        assert (await http.get("/v1/jobs", headers=headers)).status_code == 200
        _write(tmp_path / "tokens.json", [Role.ADMIN])
        async with asyncio.timeout(20):
            while (await http.get("/v1/jobs", headers=headers)).status_code == 200:
                pass
        problem(await http.get("/v1/jobs", headers=headers), 401, "unauthenticated")

    async def test_only_digests_are_kept(self, settings: Settings, tmp_path: Path) -> None:
        """
        The file holds no secret, is its owner's alone, and a role that is none is refused at the start.
        """
        path = tmp_path / "tokens.json"
        assert settings.tokens_file == str(path)
        assert not any(secret in path.read_text() for secret in SECRETS.values())
        assert path.stat().st_mode & 0o777 == 0o600
        kept = json.loads(path.read_text())
        kept["tokens"][0]["role"] = "god"
        path.write_text(json.dumps(kept))
        with pytest.raises(InvalidSpec, match="no role"):
            Tokens.load(path)

    async def test_health_needs_no_token(self, http: Http) -> None:
        """
        What a load balancer asks, and the description of the interface.
        """
        for path in ("/healthz", "/readyz", "/openapi.json"):
            assert (await http.get(path)).status_code == 200
        problem(await http.get("/metrics"), 401, "unauthenticated")


def test_without_tokens_everyone_is_admin() -> None:
    """
    Which only a loopback address may do.
    """
    assert authorize(None, None, Role.ADMIN).role is Role.ADMIN


@pytest.mark.parametrize(
    "headers, allowed",
    [
        ({}, True),
        ({"Host": "localhost:8350"}, True),
        ({"Host": "127.0.0.1:8350", "Origin": "http://127.0.0.1:8350"}, True),
        ({"Host": "[::1]:8350", "Origin": "http://[::1]:8350"}, True),
        ({"Host": "evil.example:8350"}, False),
        ({"Host": "10.0.0.1:8350"}, False),
        ({"Host": "127.0.0.1:8350", "Origin": "https://evil.example"}, False),
        ({"Host": "127.0.0.1:8350", "Origin": "http://127.0.0.1:9999"}, False),
        ({"Host": "127.0.0.1:8350", "Origin": "null"}, False),
        ({"Host": "["}, True),
    ],
)
async def test_pages_of_other_sites_stay_outside(http: Http, headers: dict[str, str], allowed: bool) -> None:
    """
    Without tokens a browser would act for any page that it shows: by its Origin, or by a name that points here.
    """
    answer = await http.post("/v1/jobs", json=job(), headers=headers)
    if allowed:
        assert answer.status_code == 201, answer.text
    else:
        problem(answer, 403, "forbidden")


async def test_an_unknown_path_is_a_problem(http: Http) -> None:
    """
    404 with a document, also for a path that only lacks or has a slash: no redirect.
    """
    for path in ("/", "/v1", "/v1/jobs/", "/v2/jobs", "/v1/jobs/a/b/c", "//v1/jobs", "/v1/jobs/a%2Fb/x"):
        problem(await http.get(path), 404, "not_found")
    problem(await http.get("/v1/jobs/job_none"), 404, "job_not_found")
    problem(await http.get("/v1/problems/none"), 404, "not_found")
    for odd in ("%00", "%FF", "..", "%3F", "%E2%80%AE", "a" * 5000):
        assert (await http.get(f"/v1/jobs/{odd}")).status_code == 404


async def test_another_method_is_told_which_there_are(http: Http) -> None:
    """
    405 carries Allow.
    """
    answer = await http.patch("/v1/jobs")
    problem(answer, 405, "method_not_allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert (await http.head("/v1/jobs")).status_code == 200
    assert (await http.request("HEAD", "/v1/events?follow=true")).status_code == 200, "a stream is no answer to HEAD"


async def test_a_fault_of_ours_tells_nothing_but_its_id(
    http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    500 `internal` without a word of the inside.
    """

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(plane.world.catalogue, "page", broken)
    monkeypatch.setattr(plane.intake, "job", broken)
    for path in ("/v1/jobs", "/v1/jobs/job_1"):
        told = problem(await http.get(path), 500, "internal")
        assert "secret" not in json.dumps(told) and told["retry"] == "same_request"


async def test_a_silent_store_is_503(http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With Retry-After; and the process is not ready while it lasts, though it is alive.
    """

    def silent(*_: object, **__: object) -> None:
        raise Unavailable("the disk hangs", code="store_unavailable", retry_after_s=7.0)

    monkeypatch.setattr(plane.world.catalogue, "newest_seq", silent)
    monkeypatch.setattr(plane.world.catalogue, "page", silent)
    answer = await http.get("/v1/jobs")
    assert problem(answer, 503, "store_unavailable")["retry"] == "same_request"
    assert answer.headers["retry-after"] == "7"
    problem(await http.get("/readyz"), 503, "store_unavailable")
    assert (await http.get("/healthz")).text == "ok\n"


async def test_an_answer_that_never_comes_is_503(http: Http, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whoever waits is told in the end that nothing is known.
    """

    async def hangs(*_: object, **__: object) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(door, "ANSWER_S", 0.05)
    monkeypatch.setattr(plane.world.catalogue, "page", hangs)
    problem(await http.get("/v1/jobs"), 503, "unavailable")


async def test_a_body_that_never_comes_is_408(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A connection that sends drop by drop does not hold us.
    """

    async def drops() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(3600)

    monkeypatch.setattr(bounds, "BODY_S", 0.05)
    problem(await http.post("/v1/jobs", content=drops()), 408, "request_timeout")


class TestBuckets:
    """
    A control plane that takes one request a second of each caller, two at once.
    """

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        """
        As above.
        """
        return msgspec.structs.replace(settings, requests_per_s=1.0)

    async def test_too_many_requests(self, http: Http) -> None:
        """
        429 with Retry-After; also for what needs no token.
        """
        answers = [await http.get("/v1/jobs") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert problem(answers[-1], 429, "throttled")["retry"] == "later"
        assert int(answers[-1].headers["retry-after"]) >= 1
        problem(await http.get("/healthz"), 429, "throttled")


def test_a_bucket_fills_again() -> None:
    """
    By its rate, up to its burst; each caller has its own; the idle ones are forgotten first.
    """
    now = 1000.0
    buckets = Buckets(10.0, lambda: now)
    for _ in range(20):
        buckets.take("ann")
    with pytest.raises(Throttled) as refused:
        buckets.take("ann")
    assert refused.value.retry_after_s == pytest.approx(0.1)
    buckets.take("bob")
    now += 0.11
    buckets.take("ann")
    now += 3600
    for _ in range(20):
        buckets.take("ann")
    with pytest.raises(Throttled):
        buckets.take("ann")
    for n in range(bounds.CALLERS_MAX + 5):
        buckets.take(f"caller {n}")
    assert len(buckets._levels) == bounds.CALLERS_MAX


def test_every_error_of_ours_has_a_row() -> None:
    """
    Each class of `core.errors` becomes an answer below 500 or a 503; only the unforeseen is `internal`.
    """
    for kind in (*StandfastError.__subclasses__(), *InvalidSpec.__mro__[1:2]):
        if kind.__module__ == "standfast.core.errors" and kind is not StandfastError:
            assert kind.code in CATALOGUE, kind
    assert issubclass(Throttled, Unavailable) and issubclass(Forbidden, StandfastError)


async def test_an_open_address_needs_tokens(settings: Settings) -> None:
    """
    Serving beyond loopback without a tokens file is refused before anything is opened.
    """
    from standfast import wiring

    with pytest.raises(InvalidSpec, match="tokens_file"):
        await wiring.serve(msgspec.structs.replace(settings, listen="0.0.0.0:0"))
    assert ADDRESS.startswith("http://127.")
    async with control_plane(settings) as plane:
        assert plane.app is not None
