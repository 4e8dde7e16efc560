"""
The ticket's bytes, and that both sides write the same ones.
"""

from __future__ import annotations

import os
import re
import zlib
from typing import Any

import pytest
from process_lab import Lab

from standfast.engines.process import keeper, ticket
from standfast.engines.process.ticket import LINE_BYTES, TICKET_BYTES, Ticket, TicketDamaged, parse, render


def _full(lab: Lab) -> bytes:
    lab.launch("a", lab.counting("exit 3"))
    lab.free("a")
    return (lab.root.tickets / "a").read_bytes()


def test_both_sides_write_the_same_bytes(plain_lab: Lab) -> None:
    """
    What the keeper wrote is what `render` makes of it, byte for byte: the two need no common module.
    """
    lab = plain_lab
    data = _full(lab)
    found = parse(data)
    assert None not in (found.claim, found.started, found.ended, found.gone)
    assert render(found) == data
    assert len(data) == TICKET_BYTES
    assert (keeper.LINE_BYTES, keeper.GONE + 1) == (ticket.LINE_BYTES, ticket.LINES)


def test_a_person_can_read_it(plain_lab: Lab) -> None:
    """
    Four lines of printable text.
    """
    lab = plain_lab
    lines = _full(lab).split(b"\n")
    assert [len(line) for line in lines] == [1023, 1023, 1023, 1023, 0]
    assert re.fullmatch(rb"[ -~\n]+", b"\n".join(lines))


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_line_torn_anywhere_was_not_written(plain_lab: Lab, line: int) -> None:
    """
    A crash in the middle of an overwrite, at any byte, hides this line and no other.
    """
    lab = plain_lab
    data = _full(lab)
    whole = parse(data)
    written = len(data[line * LINE_BYTES :][:LINE_BYTES].rstrip())
    for cut in range(written):
        torn = bytearray(data)
        torn[line * LINE_BYTES + cut : line * LINE_BYTES + written] = b" " * (written - cut)
        found = parse(bytes(torn))
        names = ("claim", "started", "ended", "gone")
        assert [getattr(found, n) == getattr(whole, n) for n in names] == [n != names[line] for n in names]
        assert getattr(found, names[line]) is None


@pytest.mark.parametrize(
    "data", [b"", b" " * TICKET_BYTES, b"{}" + b" " * 4094, b"\xff" * TICKET_BYTES, b"\0" * TICKET_BYTES]
)
def test_a_damaged_claim_decides_nothing(data: bytes) -> None:
    """
    It was durable before it had a name, so it cannot be "not written".
    """
    with pytest.raises(TicketDamaged):
        parse(data)


def test_the_longest_records_fit_their_lines() -> None:
    """
    The longest handle, digest and numbers leave room; what does not fit is an error, not a torn line.
    """
    big: dict[str, Any] = {"wall": 1e12 + 0.123, "boottime": 1e12 + 0.123}
    claim = ticket.Claim(
        v=1,
        handle="a" * 100,
        digest="x" * 128,
        void=False,
        boot="b" * 36,
        pidns=f"{1 << 32}:{1 << 63}",
        pid=1 << 22,
        start=1 << 63,
        uid=1 << 32,
        **big,
    )
    assert len(render(Ticket(claim))) == TICKET_BYTES
    with pytest.raises(ValueError):
        render(Ticket(ticket.Claim(**{**{f: getattr(claim, f) for f in claim.__struct_fields__}, "digest": "x" * 999})))
    with pytest.raises(OSError):
        keeper.render({"a": "x" * LINE_BYTES})


def test_a_payload_is_read_only_whole() -> None:
    """
    Every cut, and every flipped byte of the head, is noticed.
    """
    body = b'{"handle": "a"}'
    whole = b"%d %d\n" % (len(body), zlib.crc32(body)) + body

    def fed(data: bytes) -> object:
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        try:
            return keeper.read_payload(read)
        finally:
            os.close(read)

    assert fed(whole) == {"handle": "a"}
    assert all(fed(whole[:cut]) is None for cut in range(len(whole)))
    assert fed(whole + b" ") is None
    assert fed(whole.replace(b"handle", b"handls")) is None
