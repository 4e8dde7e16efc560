"""
A job that needs something which is not there yet: its first two attempts fail for a reason worth a retry.
"""

from __future__ import annotations

import os
import sys
import time

NOT_READY = 75
"""EX_TEMPFAIL of sysexits.h; the job's spec says that this exit status is a missing dependency."""


def note(word: str) -> None:
    """
    Append `HANDLE WORD` to the ledger in one write.
    """
    ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(ledger, f"{os.environ['STANDFAST_ATTEMPT_ID']} {word}\n".encode())
    os.close(ledger)


note("start")
time.sleep(1.5)
if os.environ["STANDFAST_ATTEMPT"] in ("1", "2"):
    note("end")
    print("the upstream table is not there yet", file=sys.stderr)
    sys.exit(NOT_READY)
print("the upstream table is there")
note("end")
