"""
Output: read by offset, bounded from the front, whatever its bytes are.
"""

from __future__ import annotations

from process_lab import Lab

from standfast.engines.process import output
from standfast.engines.process.launcher import Started


def _write(lab: Lab, data: bytes) -> None:
    folder = lab.root.run_directory("a")
    folder.mkdir()
    (folder / "stdout").write_bytes(data)


def test_what_a_job_wrote_is_read_in_pieces(plain_lab: Lab) -> None:
    """
    Any offset, any limit, any bytes; both streams apart; the end is an empty piece.
    """
    lab = plain_lab
    assert lab.launch("a", lab.sh("printf 'a\\377\\000b\\303\\274'; echo err >&2")) == Started()
    lab.free("a")
    whole = b"a\xff\x00b\xc3\xbc"
    for limit in range(1, 8):
        offset, pieces = 0, []
        while True:
            chunk = output.read(lab.root, "a", "stdout", offset, limit)
            assert chunk is not None
            assert chunk.size == len(whole)
            if not chunk.data:
                break
            pieces.append(chunk.data)
            offset = chunk.next_offset
        assert b"".join(pieces) == whole
    chunk = output.read(lab.root, "a", "stderr", 0, 100)
    assert chunk is not None
    assert chunk.data == b"err\n"


def test_a_reader_at_the_end_sees_what_comes(plain_lab: Lab) -> None:
    """
    Past the end is empty, and the same offset goes on when there is more.
    """
    lab = plain_lab
    _write(lab, b"one")
    chunk = output.read(lab.root, "a", "stdout", 3, 10)
    assert chunk == output.Chunk(b"", 3, 3)
    with (lab.root.run_directory("a") / "stdout").open("ab") as file:
        file.write(b"two")
    assert output.read(lab.root, "a", "stdout", 3, 10) == output.Chunk(b"two", 3, 6)
    assert output.read(lab.root, "a", "stdout", 99, 10) == output.Chunk(b"", 6, 6)


def test_no_file_is_not_an_empty_file(plain_lab: Lab) -> None:
    """
    Never launched, or cleaned up.
    """
    lab = plain_lab
    assert output.read(lab.root, "a", "stdout", 0, 1) is None
    assert output.bound(lab.root, "a", "stdout", 10) == 0


def test_bounding_keeps_offsets_and_the_tail(plain_lab: Lab) -> None:
    """
    The space of the front is given back while the job writes on; a reader from before is led past the hole.
    """
    lab = plain_lab
    line = b"%07d\n"
    data = b"".join(line % n for n in range(500_000))
    _write(lab, data)
    path = lab.root.run_directory("a") / "stdout"
    before = path.stat()
    punched = output.bound(lab.root, "a", "stdout", 1_000_000)
    if punched == 0:
        return  # The file system cannot; said so, and nothing changed.
    after = path.stat()
    assert after.st_size == before.st_size
    assert after.st_blocks * 512 < 1_200_000
    chunk = output.read(lab.root, "a", "stdout", 0, 64)
    assert chunk is not None
    assert chunk.offset == punched
    assert chunk.data == data[punched : punched + 64]
    kept = output.read(lab.root, "a", "stdout", 3_999_992, 100)
    assert kept is not None
    assert kept.data == b"0499999\n"
    assert output.bound(lab.root, "a", "stdout", 1_000_000) == 0
    with path.open("ab") as file:
        file.write(data)
    assert output.bound(lab.root, "a", "stdout", 1_000_000) > 0


def test_much_output_needs_no_keeper(plain_lab: Lab) -> None:
    """
    The job holds the files itself: 100 MB cost its keepers nothing and lose nothing with them.
    """
    lab = plain_lab
    assert lab.launch("a", lab.sh("exec head -c 100000000 /dev/zero")) == Started()
    lab.free("a")
    chunk = output.read(lab.root, "a", "stdout", 99_999_990, 100)
    assert chunk is not None
    assert (chunk.size, chunk.data) == (100_000_000, b"\0" * 10)
