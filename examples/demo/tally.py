"""
A plain job: counts slowly to ten, and notes in the ledger when it starts and when it ends.
"""

from __future__ import annotations

import os
import time


def note(word: str) -> None:
    """
    Append `HANDLE WORD` to the ledger in one write.
    """
    ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(ledger, f"{os.environ['STANDFAST_ATTEMPT_ID']} {word}\n".encode())
    os.close(ledger)


note("start")
for number in range(1, 11):
    print(f"{number} of 10", flush=True)
    time.sleep(0.8)
note("end")
