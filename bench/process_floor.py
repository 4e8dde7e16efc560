"""
The floor of the process engine: /bin/true per second, from launch to an observed end, without any control plane.

Belongs here: the mechanism alone, plain and with a fork server, 1 and 8 at a time. Run it as
``python bench/process_floor.py [jobs]``; compare ratios, not figures of different machines.
"""

from __future__ import annotations

import fcntl
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from standfast.engines.process import observe, root, ticket
from standfast.engines.process.launcher import Command, Started, launch
from standfast.engines.process.spawner import Spawner


def one(place: root.Root, handle: str, spawner: Spawner) -> float:
    """
    One job from launch to an observed end; seconds until its ack.
    """
    began = time.perf_counter()
    answer = launch(place, handle, "d", Command(argv=("/bin/true",), env={}), spawner=spawner)
    acked = time.perf_counter() - began
    assert answer == Started(), answer
    with (place.tickets / handle).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # Free when both keepers are gone.
    seen = observe.observe(place, handle)
    assert isinstance(seen, observe.Seen)
    assert (seen.basis, seen.status) == ("gone", ticket.Exited(0)), seen
    return acked


def floor(jobs: int, at_once: int, *, fork_server: bool) -> str:
    """
    One row: jobs per second and the median ack in milliseconds.
    """
    spawner = Spawner(fork_server=fork_server)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(at_once) as pool:
        place = root.prepare(Path(folder), fresh_id="floor")
        one(place, "warm-up", spawner)
        before = resource.getrusage(resource.RUSAGE_SELF)
        began = time.perf_counter()
        acks = sorted(pool.map(lambda n: one(place, f"job-{n}", spawner), range(jobs)))
        elapsed = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_SELF)
    spawner.close()
    own_ms = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / jobs * 1000
    name = "fork server" if fork_server else "plain"
    return (
        f"{name:12} {at_once:2} at a time  {jobs / elapsed:6.1f} jobs/s  ack {acks[jobs // 2] * 1000:5.1f} ms"
        f"  own CPU {own_ms:4.1f} ms"
    )


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for server in (False, True):
        for width in (1, 8):
            print(floor(count, width, fork_server=server), flush=True)
