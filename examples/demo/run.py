"""
The demonstration: three jobs, one killed control plane, and the proof that each attempt ran once.

Starts a control plane on a fresh folder, submits a process job, a Spark job and a job that fails twice, kills the
control plane with SIGKILL while all of them run, starts it again, waits, and prints attempts, timeline, verdict and
evidence. The judge is the ledger that the jobs themselves append to. Exit status 1 if any promise did not hold.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from standfast.client import Client, JobView, Spec

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("DEMO_DIR", ".demo")).absolute()
LEDGER = FOLDER / "ledger"
WAIT_S = 150

console = Console(highlight=False, record=True, width=118 if os.environ.get("DEMO_SVG") else None)
GLYPH = {"succeeded": "[green]✓", "failed": "[red]✗", "running": "[blue]●", "backing_off": "[yellow]↻"}


class Server:
    """
    `standfast serve` on the demo's folder.
    """

    def __init__(self, *, spark: bool) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.engines = ["process", "spark"] if spark else ["process"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """
        Start it; returns the seconds until it answered.
        """
        began = time.monotonic()
        command = [str(Path(sys.executable).with_name("standfast")), "serve", "--listen", self.address]
        command += ["--state-dir", str(FOLDER / "state")]
        for engine in self.engines:
            command += ["--engine", engine]
        with (FOLDER / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        host, port = self.address.split(":")
        while time.monotonic() < began + 30:
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                return time.monotonic() - began
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        sys.exit(f"the control plane did not start; see {FOLDER / 'serve.log'}")

    def kill(self) -> None:
        """
        SIGKILL: no chance to say goodbye.
        """
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """
        SIGTERM, and wait.
        """
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)


def spark_is_here() -> str | None:
    """
    Why Spark cannot run here; None if it can.
    """
    if shutil.which("java") is None:
        return "there is no java on PATH (a JDK 17 or newer would do)"
    if find_spec("pyspark") is None:
        return "pyspark is not installed"
    return None


def jobs(*, spark: bool) -> list[tuple[Spec, int]]:
    """
    What is submitted, each with the number of attempts it must take.
    """
    env = {"LEDGER": str(LEDGER)}
    made = [
        (Spec.python(HERE / "tally.py", env=env, python=sys.executable, name="tally", key="demo-tally"), 1),
        (
            Spec.python(
                HERE / "flaky.py",
                env=env,
                python=sys.executable,
                name="flaky",
                key="demo-flaky",
                retry={"max_attempts": 3, "backoff_base_s": 1, "backoff_cap_s": 2},
                exit_codes={"75": "dependency"},
            ),
            3,
        ),
    ]
    if spark:
        program = {"env": env, "python": sys.executable, "master": "local[2]"}
        flights = Spec.spark(
            HERE / "flights.py",
            program=program,
            conf={"spark.ui.enabled": "false"},
            name="flights",
            key="demo-flights",
        )
        made.append((flights, 1))
    return made


def shown(views: list[JobView]) -> Table:
    """
    The jobs as they are now.
    """
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("JOB", "PHASE", "TRY", "WHY"):
        table.add_column(column, no_wrap=column != "WHY")
    for view in views:
        glyph = GLYPH.get(view.phase, "[dim]○")
        attempt = f"{view.attempt.number}/{view.attempt.max}" if view.attempt else "-"
        table.add_row(view.name, f"{glyph} {view.phase}[/]", attempt, view.why.message[:74])
    return table


def follow(
    client: Client, uids: list[str], until: Callable[[list[JobView]], bool], *, within_s: float
) -> list[JobView]:
    """
    Show the jobs live until something is so; on no terminal, a line a change.
    """
    views = [client.jobs.get(uid) for uid in uids]
    deadline = time.monotonic() + within_s
    last = ""
    with Live(shown(views), console=console, refresh_per_second=8, transient=True) as live:
        while not until(views) and time.monotonic() < deadline:
            time.sleep(0.2)
            views = [client.jobs.get(uid) for uid in uids]
            live.update(shown(views))
            told = ", ".join(f"{view.name} {view.phase}" for view in views)
            if not console.is_terminal and told != last:
                console.print(f"[dim]{time.strftime('%H:%M:%S')}[/] {told}")
                last = told
    return views


def report(view: JobView) -> None:
    """
    Attempts, timeline, verdict and evidence of one job.
    """
    job = view.snapshot
    console.print(f"\n[bold]{view.name}[/]  {GLYPH.get(view.phase, '')} {view.phase}[/]   [dim]{view.uid}[/]")
    for attempt in view.attempts():
        ran = (attempt.ended_at - attempt.started_at).total_seconds() if attempt.started_at and attempt.ended_at else 0
        failure = f"{attempt.failure.failure_class}: {attempt.failure.message}" if attempt.failure else ""
        console.print(f"  attempt {attempt.number}  {attempt.ending:<10} {ran:5.1f} s  {failure[:64]}")
    began = job.created_at
    line = "  ".join(
        f"+{(event.at - began).total_seconds():.1f}s {event.type}"
        for event in view.events()
        if event.type != "StatusChanged"
    )
    console.print(f"  [dim]timeline[/]  {line}")
    for one in view.evidence():
        mark = {"proven": "[green]✓", "refuted": "[red]✗"}.get(one.verdict, "[yellow]?")
        if one.attempt == (view.attempt.number if view.attempt else 0):
            console.print(f"  {mark} {one.verdict:<8}[/] {one.claim:<8} [dim]{one.source[:70]}[/]")


def judged(views: list[JobView], wanted: dict[str, int]) -> list[str]:
    """
    Every promise that did not hold, by the ledger.
    """
    starts: Counter[str] = Counter()
    for line in LEDGER.read_text().splitlines():
        handle, word = line.split()
        starts[handle] += word == "start"
    broken = []
    for view in views:
        handles = [attempt.handle for attempt in view.attempts()]
        if view.phase != "succeeded":
            broken.append(f"{view.name} is {view.phase}: {view.why.message}")
        if len(handles) != wanted[view.name]:
            broken.append(f"{view.name} took {len(handles)} attempts, not {wanted[view.name]}")
        broken += [f"{handle} ran {starts[handle]} times" for handle in handles if starts[handle] != 1]
        if any(one.verdict != "proven" for one in view.evidence() if one.claim == "gone"):
            broken.append(f"{view.name}: an attempt's death is not proven")
    known = {attempt.handle for view in views for attempt in view.attempts()}
    broken += [f"{handle} ran and belongs to nobody" for handle in starts if handle not in known]
    return broken


def main() -> int:
    """
    The whole play.
    """
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    LEDGER.touch()
    reason = spark_is_here()
    if reason is not None:
        console.print(f"[yellow]No Spark job in this run: {reason}.[/]")
    server = Server(spark=reason is None)
    began = time.monotonic()
    console.print(f"[bold]1.[/] control plane up in {server.start():.1f} s at http://{server.address}")
    try:
        with Client(f"http://{server.address}") as client:
            specs = jobs(spark=reason is None)
            views = [client.jobs.run(spec, key=spec.key) for spec, _ in specs]
            wanted = {view.name: attempts for view, (_, attempts) in zip(views, specs, strict=True)}
            uids = [view.uid for view in views]
            console.print(f"[bold]2.[/] accepted, each durable before its answer: {', '.join(v.name for v in views)}")
            running = follow(
                client, uids, lambda now: all(view.attempt for view in now) and ledger_has(len(uids)), within_s=30
            )
            console.print(shown(running))
            server.kill()
            console.print("[bold]3.[/] [red]kill -9[/] of the control plane, while they run")
            time.sleep(2)
            console.print(f"[bold]4.[/] control plane up again in {server.start():.1f} s, on the same folder")
            again = [client.jobs.run(spec, key=spec.key) for spec, _ in specs]
            same = all(new.uid == old and new.replayed for new, old in zip(again, uids, strict=True))
            console.print(f"[bold]5.[/] the same three requests sent again: {'the same jobs' if same else 'NEW JOBS'}")
            views = follow(client, uids, lambda now: all(view.final for view in now), within_s=WAIT_S)
            for view in views:
                report(view)
            broken = judged(views, wanted) + ([] if same else ["a request sent twice made two jobs"])
    finally:
        server.stop()
    runs = len(LEDGER.read_text().splitlines())
    console.print(
        f"\n[bold]ledger[/]  {runs} lines written by the jobs themselves, {time.monotonic() - began:.0f} s in all"
    )
    if broken:
        for promise in broken:
            console.print(f"[red]✗ broken: {promise}[/]")
        return 1
    console.print("[green]✓ every attempt ran once, none was lost, no retry was spent on the restart[/]")
    if os.environ.get("DEMO_SVG"):
        picture = console.export_svg(title="make demo")
        # Without the fonts that rich would have a reader fetch from elsewhere.
        Path(os.environ["DEMO_SVG"]).write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))
    return 0


def ledger_has(attempts: int) -> bool:
    """
    Whether so many attempts have noted their start.
    """
    return sum(line.endswith(" start") for line in LEDGER.read_text().splitlines()) >= attempts


if __name__ == "__main__":
    sys.exit(main())
