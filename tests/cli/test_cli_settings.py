"""
Where settings come from, and where a token never goes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from standfast.cli import strays
from standfast.cli.contexts import FIELDS, resolve
from standfast.cli.exits import Quit
from standfast.engines.process import environment
from standfast.settings import Settings


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """
    An environment with two contexts in its configuration.
    """
    folder = tmp_path / "config/standfast"
    folder.mkdir(parents=True)
    token = tmp_path / "lab.token"
    token.write_text("lab-secret\n")
    token.chmod(0o600)
    (folder / "config.toml").write_text(
        f'current = "lab"\n[contexts.lab]\nserver = "http://lab:1/"\nnamespace = "etl"\ntoken_file = "{token}"\n'
        '[contexts.home]\nserver = "http://home:2"\n'
    )
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.mark.parametrize(
    ("name", "meant"),
    [("SEVER", "SERVER"), ("STATEDIR", "STATE_DIR"), ("NAMESPCE", "NAMESPACE"), ("URL", "SERVER"), ("SLOT", "SLOTS")],
)
def test_a_mistyped_variable_is_told(name: str, meant: str) -> None:
    """
    With the setting that was probably meant: those of a control plane too.
    """
    (sentence,) = strays.sentences({f"STANDFAST_{name}": "x", f"STANDFAST_{meant}": "y", f"MY_{name}": "z"})

    assert f"STANDFAST_{name} is set" in sentence and sentence.endswith(f"STANDFAST_{meant}?")


def test_variables_that_mean_something_are_not_complained_about() -> None:
    """
    Every setting; what a job is told about itself, where the command may run too; what tests and others' engines use.
    """
    told = environment.build(Path("/run"), "sf-x-1", {}, base={}, job="job_x", attempt=1, fence=1, stop_grace_s=10.0)
    settings = [f"STANDFAST_{name.upper()}" for name in (*Settings.__struct_fields__, *FIELDS, "TOKEN")]
    tests = ("FAILPOINT", "FAILPOINT_TRACE", "KEEPER_FAILPOINT", "CRASH", "CRASH_SEED", "SPARK", "PROCESS_ROUNDS")
    others = ("SLURM_PARTITION", "LEDGER")
    names = [*told, *settings, *(f"STANDFAST_{name}" for name in (*tests, *others))]

    assert list(strays.sentences(dict.fromkeys(names, "x"))) == []


def test_the_strongest_source_wins(user: dict[str, str], tmp_path: Path) -> None:
    """
    flag > environment > standfast.toml upwards > context > default, and each says where it came from.
    """
    here = tmp_path / "repo/deep/er"
    here.mkdir(parents=True)
    assert resolve({}, environment=user, here=here).server == "http://lab:1"
    assert resolve({}, environment=user, here=here).namespace == "etl"
    (tmp_path / "repo/standfast.toml").write_text('[client]\nserver = "http://repo:3"\n')
    assert resolve({}, environment=user, here=here).server == "http://repo:3"
    env = {**user, "STANDFAST_SERVER": "http://env:4"}
    assert resolve({}, environment=env, here=here).server == "http://env:4"
    found = resolve({"server": "http://flag:5"}, environment=env, here=here)
    assert (found.server, found.sources["server"], found.sources["output"]) == ("http://flag:5", "flag", "default")
    assert resolve({"context": "home"}, environment=user, here=tmp_path).server == "http://home:2"


def test_a_contexts_token_goes_to_its_own_server_only(user: dict[str, str], tmp_path: Path) -> None:
    """
    A repository's standfast.toml cannot send it elsewhere, nor name a token file.
    """
    assert resolve({}, environment=user, here=tmp_path).token == "lab-secret"
    (tmp_path / "standfast.toml").write_text('[client]\nserver = "http://evil:6"\n')
    assert resolve({}, environment=user, here=tmp_path).token is None
    (tmp_path / "standfast.toml").write_text('[client]\ntoken_file = "~/.ssh/id"\n')
    with pytest.raises(Quit, match="not allowed"):
        resolve({}, environment=user, here=tmp_path)


def test_a_token_file_that_others_can_read_is_refused(user: dict[str, str], tmp_path: Path) -> None:
    """
    The hint says what to do.
    """
    loose = tmp_path / "loose"
    loose.write_text("x")
    loose.chmod(0o644)
    with pytest.raises(Quit, match="read by others") as caught:
        resolve({"token_file": str(loose)}, environment=user, here=tmp_path)

    assert caught.value.hint == f"chmod 600 {loose}"


def test_mistakes_in_files_are_told(user: dict[str, str], tmp_path: Path) -> None:
    """
    Broken TOML, unknown settings, unknown contexts.
    """
    for text, told in (("[client\n", "standfast.toml"), ("[client]\nsever = 1\n", "sever")):
        (tmp_path / "standfast.toml").write_text(text)
        with pytest.raises(Quit, match=told):
            resolve({}, environment=user, here=tmp_path)
    (tmp_path / "standfast.toml").unlink()
    with pytest.raises(Quit, match="home, lab"):
        resolve({"context": "nowhere"}, environment=user, here=tmp_path)
