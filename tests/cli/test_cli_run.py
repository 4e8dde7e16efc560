"""
run and submit: exit codes, streams, keys.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest
from cli_runner import Cli

from standfast.cli.exits import Exit
from standfast.client import Client
from standfast.testing.server import FakeServer


def test_the_exit_code_tells_the_outcome(cli: Cli) -> None:
    """
    0 as the job succeeded, 8 as it failed, and the job's own code under --pass-exit-code.
    """
    assert cli("run", "--", "true").code == Exit.OK
    assert cli("run", "--", "sh", "-c", "exit 3").code == Exit.FAILED
    assert cli("run", "--pass-exit-code", "--", "sh", "-c", "exit 3").code == 3


def test_output_goes_where_it_belongs(cli: Cli) -> None:
    """
    The job's stdout is data, its stderr and what happens to it are talk; no escape byte without a terminal.
    """
    result = cli("run", "--", "sh", "-c", "echo one; echo two >&2; printf three")

    assert result.out == "one\nthree\n"
    assert "two\n" in result.err and "succeeded" in result.err
    assert "\x1b" not in result.out + result.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--", "no-such-program", "x"), "program 'no-such-program': No such file or directory (looked for in /"),
        (("--", "./not-here"), "program './not-here': No such file or directory;"),
        (("--", "/etc/passwd"), "program '/etc/passwd': Permission denied"),
        (("--cwd", "/no/such/folder", "--", "true"), "folder '/no/such/folder': No such file or directory"),
    ],
)
def test_what_could_not_be_run_is_named(cli: Cli, words: tuple[str, ...], told: str) -> None:
    """
    The failure says which program or folder, and where it was looked for.
    """
    result = cli("run", *words)

    assert result.code == Exit.FAILED and told in result.err


def test_quiet_says_nothing_of_its_own(cli: Cli) -> None:
    """
    Only the job is heard.
    """
    result = cli("run", "-q", "--", "sh", "-c", "echo x; echo y >&2")

    assert (result.out, result.err) == ("x\n", "y\n")


def test_with_json_stdout_is_one_document(cli: Cli) -> None:
    """
    The job's output then goes to stderr.
    """
    result = cli("run", "-o", "json", "--", "echo", "hello")

    assert result.json["phase"] == "succeeded"
    assert "hello" in result.err


def test_the_job_runs_here_with_its_environment(cli: Cli, home: Path) -> None:
    """
    A control plane on this machine runs the command in this folder; --env adds variables.
    """
    result = cli("run", "-q", "--env", "WHO=me", "--", "sh", "-c", "pwd; echo $WHO")

    assert result.out == f"{home}\nme\n"


def test_words_behind_the_dashes_are_the_jobs_own(cli: Cli) -> None:
    """
    A flag of ours behind -- is not ours.
    """
    assert cli("run", "-q", "--", "echo", "--name", "x", "-o", "json", "--").out == "--name x -o json --\n"


def test_a_python_file_gets_its_arguments(cli: Cli, home: Path) -> None:
    """
    FILE.py runs under the runner that leaves a receipt; what stands behind -- are its arguments.
    """
    (home / "etl.py").write_text("import sys; print(sys.argv[1:])\n")
    result = cli("run", "-q", "etl.py", "--", "--day", "1")

    assert result.out == "['--day', '1']\n"


def test_the_same_key_is_the_same_job(cli: Cli) -> None:
    """
    A second submit finds the first job; another body under the key is a conflict naming both digests.
    """
    first = cli("submit", "--key", "cron-1", "--", "true")
    again = cli("submit", "--key", "cron-1", "--", "true")
    other = cli("submit", "--key", "cron-1", "--", "false")

    assert first.out == again.out and first.out.startswith("job_")
    assert "it was there before" in again.err
    assert other.code == Exit.CONFLICT and "idempotency_key_reused" in other.err and other.out == ""
    assert cli("submit", "--key", "a", "--request-id", "b", "--", "true").code == Exit.USAGE


def test_the_request_id_is_on_disk_before_it_is_sent(cli: Cli, home: Path) -> None:
    """
    The journal has the id of a request that nobody answered, and stderr says how to send it again.
    """
    result = cli("submit", "--server", "http://127.0.0.1:9", "--", "true")
    journal = (home.parent / "state/standfast/requests.jsonl").read_text()
    request_id = result.err.split("request id: ")[1].split()[0]

    assert result.code == Exit.UNKNOWN
    assert request_id in journal and "answered" not in journal


def test_where_a_request_goes_is_said_once(cli: Cli, server: FakeServer) -> None:
    """
    The address, with the context's name before it if one was used.
    """
    assert cli("submit", "--", "true").err.splitlines()[0].count(server.url) == 1


def test_a_mistyped_variable_is_said_on_stderr(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Once, before anything else; data stay data.
    """
    monkeypatch.setenv("STANDFAST_NAMESPCE", "etl")
    result = cli("get", "jobs", "-o", "json")

    assert result.json["items"] is not None
    assert result.err == "warning: STANDFAST_NAMESPCE is set, and is no setting; did you mean STANDFAST_NAMESPACE?\n"


class _Full(BaseHTTPRequestHandler):
    """
    A control plane whose disk is full.
    """

    def do_POST(self) -> None:
        """
        Refuse for now.
        """
        problem = {"code": "store_full", "status": 503, "title": "The disk is full", "detail": "no space left"}
        body = msgspec.json.encode({**problem, "hint": "Make room.", "retry": "same_request", "request_id": "log-1"})
        self.send_response(503)
        self.send_header("content-type", "application/problem+json")
        self.send_header("content-length", str(len(body)))
        self.send_header("retry-after", "4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """
        Nothing.
        """


def test_a_refusal_for_now_is_shown_with_its_reason(cli: Cli) -> None:
    """
    A 503 says why, when to come again and under which id; it is not "no answer", but as safe to send again: exit 6.
    """
    with HTTPServer(("127.0.0.1", 0), _Full) as full:
        threading.Thread(target=full.serve_forever, daemon=True).start()
        result = cli("submit", "--key", "k503", "--server", f"http://127.0.0.1:{full.server_port}", "--", "true")
        full.shutdown()

    assert result.code == Exit.UNKNOWN
    assert result.err.splitlines()[1:] == [
        "error: no space left [store_full]",
        "hint: Make room.",
        "      not before 4s from now, says the control plane",
        "      request id: k503   (send the same again with --request-id)",
    ]


def test_detach_and_attach(cli: Cli, sf: Client) -> None:
    """
    -d returns once the job is accepted; --attach follows it to its end.
    """
    uid = cli("run", "-d", "--name", "later", "--", "sh", "-c", "sleep 0.3; echo done").out.strip()
    result = cli("run", "-q", "--attach", uid)

    assert (result.code, result.out) == (Exit.OK, "done\n")


def test_dry_run_and_plan_store_nothing(cli: Cli, sf: Client) -> None:
    """
    The exact call is shown, no job is made.
    """
    for words in (("run", "--dry-run"), ("submit", "--dry-run"), ("plan",)):
        result = cli(*words, "--name", "dry", "--", "echo", "hi")
        assert result.code == Exit.OK and '"echo"' in result.out
    assert cli("plan", "--exit-code", "--", "true").code == Exit.WOULD_CHANGE
    assert list(sf.jobs.list(name="dry")) == []


def test_every_wrong_field_is_told_with_its_place(cli: Cli) -> None:
    """
    Validation exits 2; with -o json the problem is one document on stderr.
    """
    plain = cli("submit", "--priority", "5000", "--name", "Bad", "--", "true")
    machine = cli("submit", "-o", "json", "--priority", "5000", "--name", "Bad", "--", "true")

    assert plain.code == Exit.USAGE and "/spec/priority" in plain.err and "/name" in plain.err
    assert '"code":"invalid_spec"' in machine.err and machine.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "--retries", "x", "--", "true"),
        ("submit", "--deadline", "soon", "--", "true"),
        ("submit", "-l", "nolabel", "--", "true"),
        ("submit", "--memory", "lots", "--", "true"),
        ("submit", "nosuch.yaml"),
        ("get", "jobs", "--", "x"),
        ("gett",),
        ("get", "jobs", "-o", "xml"),
    ],
)
def test_usage_errors_exit_2_and_write_no_data(cli: Cli, words: tuple[str, ...]) -> None:
    """
    A mistake is told on stderr with a way on.
    """
    result = cli(*words)

    assert result.code == Exit.USAGE
    assert result.out == "" and result.err.startswith("error: ")
