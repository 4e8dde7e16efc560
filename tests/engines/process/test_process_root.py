"""
The engine root: one incarnation, noticed when it is another's, refused where locks are not the kernel's own.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from standfast.engines.process import root
from standfast.engines.process.root import RootUnusable, file_system, open_root, prepare

MOUNTS = rb"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
30 22 0:40 / /data rw - xfs /dev/vdb rw
31 30 0:41 / /data/share rw - nfs4 server:/x rw
32 22 0:42 / /with\040space rw - fuse.sshfs host: rw
33 22 0:43 / /over rw - ext4 /dev/vdc rw
34 33 0:44 / /over rw - 9p tag rw
"""


def test_two_who_prepare_agree(tmp_path: Path) -> None:
    """
    The first incarnation stays; everybody sees it.
    """
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: made.append(prepare(tmp_path / "r", fresh_id=f"id-{n}").incarnation))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len(set(made)) == 1
    assert open_root(tmp_path / "r").incarnation == made[0]
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["incarnation", "runs", "tickets"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "r").iterdir() if path.is_dir()} == {0o700}


@pytest.mark.parametrize(
    "content, code",
    [
        (None, "missing"),
        ("nonsense", "damaged"),
        ('{"v":1,"id":"other","machine":"%s"}', "wrong_incarnation"),
        ('{"v":1,"id":"first","machine":"elsewhere"}', "wrong_machine"),
    ],
)
def test_another_memory_is_noticed(tmp_path: Path, content: str | None, code: str) -> None:
    """
    Deleted, damaged, replaced, or carried to another machine.
    """
    made = prepare(tmp_path, fresh_id="first")
    made.check()
    path = tmp_path / "incarnation"
    if content is None:
        path.unlink()
    else:
        path.write_text(content.replace("%s", made.machine))
    with pytest.raises(RootUnusable) as caught:
        made.check()
    assert caught.value.code == code


@pytest.mark.parametrize(
    "path, kind",
    [
        ("/srv/standfast", "ext4"),
        ("/data", "xfs"),
        ("/database", "ext4"),
        ("/data/share/root", "nfs4"),
        ("/with space/root", "fuse.sshfs"),
        ("/over/root", "9p"),
    ],
)
def test_the_file_system_of_a_path(path: str, kind: str) -> None:
    """
    The deepest mount point counts, of equal ones the last, and only whole names.
    """
    assert file_system(Path(path), MOUNTS) == kind


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "fuseblk", "smb3"])
def test_remote_file_systems_are_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With the type in the message.
    """
    monkeypatch.setattr(root, "file_system", lambda path, mounts: kind)
    with pytest.raises(RootUnusable, match=kind) as caught:
        prepare(tmp_path / "r", fresh_id="x")
    assert caught.value.code == "not_local"
    assert not (tmp_path / "r" / "incarnation").exists()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """
    A file is in the way.
    """
    (tmp_path / "file").write_text("")
    with pytest.raises(RootUnusable) as caught:
        prepare(tmp_path / "file" / "r", fresh_id="x")
    assert caught.value.code == "not_writable"
