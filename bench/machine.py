"""
The machine the figures are from: processor, disk, versions, and how long its disk takes to make 4 KiB durable.

Belongs here: facts that a reader needs before comparing. Nothing that names the machine or its user.
"""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from measure import percentile

PACKAGES = ("standfast", "apsw", "msgspec", "starlette", "uvicorn", "uvloop", "httptools", "dbos", "sqlalchemy", "huey")


def probe(folder: Path, *, times: int = 300) -> list[float]:
    """
    Seconds that each of `times` writes of 4 KiB with fdatasync took.
    """
    path = folder / "probe"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    taken: list[float] = []
    try:
        for _ in range(times):
            began = time.perf_counter()
            os.write(descriptor, b"x" * 4096)
            os.fdatasync(descriptor)
            taken.append(time.perf_counter() - began)
    finally:
        os.close(descriptor)
        path.unlink()
    return taken


def described(probes: list[float]) -> list[str]:
    """
    Lines about the machine, the versions and the disk.
    """
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} (not installed)")
    p50, p99 = (percentile(probes, part) * 1e3 for part in (0.5, 0.99))
    return [
        f"{len(os.sched_getaffinity(0))} cores, {_processor()}, {_memory_gib()} GiB; Linux {platform.release()}",
        f"Python {platform.python_version()}; " + ", ".join(versions),
        f"fdatasync of 4 KiB, {len(probes)} times over the run: p50 {p50:.2f} ms, p99 {p99:.2f} ms",
    ]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
