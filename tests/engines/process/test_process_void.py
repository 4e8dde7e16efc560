"""
Giving a handle up, also against a launch in flight.
"""

from __future__ import annotations

import threading

import pytest
from process_lab import ROUNDS, Lab

from standfast.engines.process.launcher import PLAIN, Already, Launched, Started
from standfast.engines.process.observe import Absent
from standfast.engines.process.root import RootUnusable
from standfast.engines.process.stop import Over, stop
from standfast.engines.process.void import Taken, Voided, void


def test_a_void_handle_is_absent_for_ever(lab: Lab) -> None:
    """
    No launch passes it, and giving it up again changes nothing.
    """
    assert void(lab.root, "a", "d") == Voided()
    assert lab.look("a") == Absent(final=True)
    assert lab.launch("a", lab.counting()) == Already("d", True)
    assert void(lab.root, "a", "d") == Taken()
    assert stop(lab.root, "a", "d") == Over(None)
    assert lab.runs("a") == 0
    assert [path.name for path in lab.root.tickets.iterdir()] == ["a"]


def test_a_root_that_was_replaced_is_not_written_to(lab: Lab) -> None:
    """
    A void in another memory would prove nothing.
    """
    (lab.root.path / "incarnation").unlink()
    with pytest.raises(RootUnusable):
        void(lab.root, "a", "d")
    assert list(lab.root.tickets.iterdir()) == []


def test_void_against_launch(lab: Lab) -> None:
    """
    Whoever links first wins: given up and no run, or one run and a void that is told so. Never both, never neither.
    """
    voided = 0
    rounds = 30 * ROUNDS
    longest_s = 0.045 if lab.spawner is PLAIN else 0.012
    for n in range(rounds):
        handle = f"r-{n}"
        answers: list[Launched] = []
        command = lab.counting()
        thread = threading.Thread(target=lambda h=handle, a=answers, c=command: a.append(lab.launch(h, c)))
        thread.start()
        # From at once to after the end; the delay is the interleaving that is tried, not a wait for something.
        thread.join(None if n == rounds - 1 else longest_s * n / rounds)
        given_up = void(lab.root, handle, "d")
        thread.join()
        if given_up == Voided():
            voided += 1
            assert answers == [Already("d", True)]
            assert lab.look(handle) == Absent(final=True)
            assert lab.runs(handle) == 0
        else:
            assert answers == [Started()]
            lab.free(handle)
            assert lab.runs(handle) == 1
    assert 0 < voided < rounds
