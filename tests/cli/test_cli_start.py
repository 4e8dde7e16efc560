"""
How a control plane begins: what its start imports, and its flags read with and without the parser.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from standfast.cli import foreground
from standfast.cli.main import build
from standfast.cli.serve import serve

NOT_FOR_A_SERVER = {
    *("cyclopts", "yaml", "pydantic", "jinja2", "xml", "importlib.metadata", "httpx2", "requests"),
    *("starlette.routing", "starlette.middleware", "starlette.testclient", "pyspark", "pygments.lexers.python"),
    *("standfast.client", "standfast.manifests", "standfast.testing", "standfast.engines.fake"),
}
NOT_FOR_A_CLIENT = {
    *("cyclopts", "yaml", "pydantic", "rich", "structlog", "uvicorn", "starlette", "apsw", "prometheus_client"),
    *("standfast.cli", "standfast.api", "standfast.wiring", "standfast.runtime", "standfast.client.aio"),
}
"""Each costs its import at every start; who needs one imports it where it is needed."""

FLAGS = st.sampled_from([*foreground.FLAGS, "--help", "-h", "--version", "--no-listen", "--", "-x", "--state_dir"])
VALUES = st.one_of(
    st.sampled_from(["127.0.0.1:0", "/tmp/x", "~/y", "a//b/../c", "process", "16", "007", "1_000", "0x10", "-1", ""]),
    st.text(st.sampled_from("aZ09.:/-_~@+,={}[]' \té"), max_size=8),
)
WORDS = st.lists(
    st.one_of(
        st.tuples(FLAGS, VALUES).map(list),
        st.tuples(FLAGS, VALUES).map(lambda pair: ["=".join(pair)]),
        st.tuples(FLAGS, VALUES).map(lambda pair: ["".join(pair)]),
        st.tuples(VALUES).map(list),
        st.tuples(FLAGS).map(list),
    ),
    max_size=4,
).map(lambda parts: [word for part in parts for word in part])


def test_every_flag_of_serve_is_read_plainly() -> None:
    """
    None is missing, and none is too many.
    """
    assert set(foreground.FLAGS.values()) == set(inspect.signature(serve).parameters)
    for flag, name in foreground.FLAGS.items():
        assert set(foreground.plain([flag, "7"]) or ()) == set(
            foreground.plain([f"--{name.replace('_', '-')}=7"]) or ()
        )
        assert set(foreground.plain([flag, "7"]) or ()) == {name}


@given(words=WORDS)
def test_plain_words_mean_what_the_parser_says(words: list[str]) -> None:
    """
    Where the quick reading gives values, the parser gives the same.
    """
    quick = foreground.plain(words)
    if quick is not None:
        assert quick == _parsed(words)


@given(
    listen=st.just("[::1]:80") | st.ip_addresses(v=4).map(lambda ip: f"{ip}:8350"),
    engines=st.lists(st.sampled_from(["process", "spark"]), max_size=3),
    slots=st.integers(1, 10**6),
)
def test_what_people_write_is_plain(listen: str, engines: list[str], slots: int) -> None:
    """
    Addresses, names, folders and numbers are read quickly, all flags together; an IPv6 address is the parser's.
    """
    words = [f"--listen={listen}", "--slots", str(slots), *(w for name in engines for w in ("-e", name))]
    words += ["--state-dir", "/var/lib/standfast", "--store", "sqlite", "--tokens-file", "tokens.json"]

    quick = foreground.plain(words)

    assert quick == (None if "[" in listen else _parsed(words))


def _parsed(words: list[str]) -> dict[str, Any]:
    _, bound, _ = build().parse_args(["serve", *words], exit_on_error=False, print_error=False)
    return dict(bound.arguments)


def test_a_control_plane_imports_only_what_it_needs(tmp_path: Path) -> None:
    """
    Until it is ready a served control plane has not imported the parser, YAML, or what only single requests need.
    """
    code = (
        "import sys\n"
        "from standfast.cli import main\n"
        "from standfast import wiring\n"
        "class Told(wiring.Server):\n"
        "    async def main_loop(self):\n"
        "        print('\\n'.join(sorted(sys.modules)))\n"
        "wiring.Server = Told\n"
        "sys.exit(main.call(sys.argv[1:]))\n"
    )
    imported = _imported(code, "serve", "--listen", "127.0.0.1:0", "--state-dir", str(tmp_path))

    assert "standfast.engines.process.engine" in imported and "standfast.stores.sqlite.store" in imported
    assert not imported & NOT_FOR_A_SERVER


def test_a_client_imports_only_what_it_needs() -> None:
    """
    A program that imports the client gets none of the server, of the command line, or of asyncio's client.
    """
    imported = _imported("import sys, standfast.client; print('\\n'.join(sorted(sys.modules)))")

    assert not imported & NOT_FOR_A_CLIENT


def _imported(code: str, *words: str) -> set[str]:
    """
    What a process of that code imported, as it printed it.
    """
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())
