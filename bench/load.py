"""
The load maker: a process of its own that speaks HTTP over bare sockets, because a client library would be the slowest
part of the measurement.

Belongs here: `Load`, which starts that process and asks it for a load, and the process itself. Each client is one
connection that sends, waits for the whole answer and sends again.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import uvloop

if TYPE_CHECKING:
    from plane import Server


@dataclass(frozen=True)
class Done:
    """
    What the load maker saw. taken: seconds per request. accepted: jobs answered as new. trouble: the first refusal.
    sent: when each request was sent, on the monotonic clock.
    """

    seconds: float
    sent: list[float]
    taken: list[float]
    accepted: int
    trouble: str


class Load:
    """
    The load maker's process, as long as the block lasts.
    """

    def __init__(self, server: Server) -> None:
        self._argv = [sys.executable, __file__, str(server.port), server.token]

    def __enter__(self) -> Load:
        self._process = subprocess.Popen(self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def submit(
        self,
        jobs: int,
        *,
        clients: int,
        batch: int = 1,
        first: int = 0,
        program: dict[str, Any] | None = None,
        engine: str = "fake",
        pause_s: float = 0.0,
    ) -> Done:
        """
        `jobs` submissions with a key each, numbered from `first`; a client pauses between an answer and its next one.
        """
        wanted = {"jobs": jobs, "clients": clients, "batch": batch, "first": first, "program": program}
        return self._ask({**wanted, "engine": engine, "pause_s": pause_s})

    def get(self, paths: Sequence[str], *, clients: int = 1) -> Done:
        """
        These paths, once each.
        """
        return self._ask({"paths": list(paths), "clients": clients})

    def _ask(self, wanted: dict[str, Any]) -> Done:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(wanted) + "\n")
        process.stdin.flush()
        return Done(**json.loads(process.stdout.readline()))


# --- in the process --------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """
    What all clients of one load write down.
    """

    sent: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


class Client(asyncio.Protocol):
    """
    One connection. requests: shared by all clients, so that nobody idles before the last one is sent.
    """

    def __init__(self, requests: Iterator[bytes], pause_s: float, seen: Seen) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requests, self._pause_s, self._seen = requests, pause_s, seen
        self._answer, self._ends = b"", 0

    def connection_made(self, transport: Any) -> None:
        """
        Keep it; the first request is sent by `send`.
        """
        self._transport = transport

    def send(self) -> None:
        """
        The next request, if there is one.
        """
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self._began = time.monotonic()
        self._seen.sent.append(self._began)
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """
        Collect one answer; answers tell their length.
        """
        self._answer += data
        if not self._ends:
            head = self._answer.find(b"\r\n\r\n")
            if head < 0:
                return
            lower = self._answer[:head].lower()
            at = lower.index(b"content-length:") + 15
            self._ends = head + 4 + int(lower[at:].split(b"\r\n", 1)[0])
        if len(self._answer) >= self._ends:
            self._seen.taken.append(time.monotonic() - self._began)
            if self._answer[9:10] != b"2" or b'"problem":{' in self._answer:
                self._seen.refusals.append(self._answer[:600].decode("latin-1"))
            self._answer, self._ends = b"", 0
            if self._pause_s:
                asyncio.get_running_loop().call_later(self._pause_s, self.send)
            else:
                self.send()

    def connection_lost(self, error: Exception | None) -> None:
        """
        Too early, unless all is sent.
        """
        if not self.done.done():
            self._seen.refusals.append(f"connection lost: {error}")
            self.done.set_result(None)


async def drive(port: int, requests: Sequence[bytes], clients: int, pause_s: float) -> Done:
    """
    Send all of them over `clients` connections.
    """
    loop = asyncio.get_running_loop()
    seen, shared = Seen(), iter(requests)
    made = [
        (await loop.create_connection(lambda: Client(shared, pause_s, seen), "127.0.0.1", port))[1]
        for _ in range(clients)
    ]
    began = time.monotonic()
    for client in made:
        client.send()
    await asyncio.gather(*(client.done for client in made))
    seconds = time.monotonic() - began
    answered = len(seen.taken) - len(seen.refusals)
    return Done(seconds, seen.sent, seen.taken, answered, "".join(seen.refusals[:1]))


def submits(wanted: dict[str, Any], token: str) -> list[bytes]:
    """
    The requests of a submission load, made before the clock starts.
    """
    from plane import body, submission

    head = f"Host: bench\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    made: list[bytes] = []
    numbers = range(wanted["first"], wanted["first"] + wanted["jobs"])
    for begin in range(0, len(numbers), wanted["batch"]):
        some = numbers[begin : begin + wanted["batch"]]
        keys = [submission(number).request_id for number in some]
        bodies = [body(number, wanted["program"], wanted["engine"]) for number in some]
        if wanted["batch"] == 1:
            data = json.dumps(bodies[0]).encode()
            lines = f"POST /v1/jobs HTTP/1.1\r\n{head}Idempotency-Key: {keys[0]}\r\n"
        else:
            jobs = [{**one, "request_id": key} for one, key in zip(bodies, keys, strict=True)]
            data = json.dumps({"jobs": jobs}).encode()
            lines = f"POST /v1/jobs/batch HTTP/1.1\r\n{head}"
        made.append(f"{lines}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return made


def main(port: int, token: str) -> None:
    """
    One load per line of stdin, its result as a line of stdout.
    """
    # Buffered whatever the environment says: without, Python takes a short write of a long line for a whole one.
    told = open(sys.stdout.fileno(), "w", closefd=False)  # noqa: SIM115 - as long as the process
    for line in sys.stdin:
        wanted = json.loads(line)
        if "paths" in wanted:
            head = f"Host: bench\r\nAuthorization: Bearer {token}\r\n\r\n"
            requests = [f"GET {path} HTTP/1.1\r\n{head}".encode() for path in wanted["paths"]]
        else:
            requests = submits(wanted, token)
        done = uvloop.run(drive(port, requests, wanted["clients"], wanted.get("pause_s", 0.0)))
        print(json.dumps({**asdict(done), "accepted": done.accepted * wanted.get("batch", 1)}), file=told, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
