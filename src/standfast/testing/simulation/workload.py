"""
What is asked of the control planes: jobs of every kind, and callers who cancel, suspend, resume, retry and ask twice.

Belongs here: what is drawn, and the callers. A caller whose control plane dies asks the next one the same again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

from standfast.core.failure import FailureClass
from standfast.core.job.spec import Spec
from standfast.core.retry import RetryPolicy
from standfast.testing.builders import START
from standfast.testing.simulation.mood import Mood

STREAM_S = 1e7
"""So long runs what never ends by itself."""


def program_of(random: Random, mood: Mood) -> dict[str, Any]:
    """
    A script for the fake engine; an innocent one has nothing wrong with it but the way it is accepted.
    """
    program: dict[str, Any] = {"run_s": random.choice([0.0, 0.0, 0.5, 3.0, 20.0, 60.0])}
    accept = random.choices(["yes", "lose_request", "lose_reply", "delay"], [6, 1, 2, 2])[0]
    program |= {"accept": accept, "accept_for": random.choice([1, 1, 2]), "delay_s": random.uniform(0, 10)}
    program["starting_s"] = random.choice([0.0, 0.0, 2.0])
    if mood.innocent:
        return program
    if random.random() < 0.15:
        program["run_s"] = STREAM_S
    program["fails"] = random.choice([0, 0, 0, 1, 2])
    program["ending"] = random.choices(["succeeded", "failed", "terminated", "never_ran"], [8, 2, 1, 1])[0]
    program["failure_class"] = random.choice([None, *(c.value for c in FailureClass)])
    if random.random() < 0.1:
        program |= {"accept": "refuse", "accept_for": random.choice([1, None])}
    if random.random() < 0.1:
        program |= {"reports": _reports(random, program["ending"]), "fails": 0}
    if random.random() < 0.1:
        program["gone"] = "unknown"
    if random.random() < 0.08:
        program["vanishes_s"] = random.uniform(1, 20)
    program["lingers_s"] = random.choice([0.0, 0.0, 0.0, 5.0, 25.0])
    program["stop_s"] = random.choice([0.0, 1.0, 8.0])
    program["unkillable_s"] = random.choice([0.0, 0.0, 0.0, 60.0])
    program["stopped"] = random.choice(["terminated", "terminated", "failed", "succeeded"])
    return program


def _reports(random: Random, ending: str) -> dict[str, str]:
    """
    Reports that contradict each other, the strongest of them true; or none at all.
    """
    other = "failed" if ending == "succeeded" else "succeeded"
    return random.choice(
        [
            {},
            {"receipt": ending, "exit_status": other},
            {"exit_status": ending, "status_word": other},
            {"receipt": ending, "status_word": "unknown"},
        ]
    )


def spec_of(random: Random, mood: Mood) -> Spec:
    """
    A spec around a script.
    """
    fields: dict[str, Any] = {
        "engine": "fake",
        "program": program_of(random, mood),
        "priority": random.randint(-2, 2),
        "queue": random.choice(["default", "other"]),
        "stop_grace_s": random.choice([0.0, 1.0, 5.0]),
        "retry": RetryPolicy(
            max_attempts=random.choice([1, 2, 4]),
            backoff_base_s=random.choice([0.0, 1.0, 5.0]),
            backoff_cap_s=20.0,
            unproven_gone=not mood.innocent and random.random() < 0.05,
        ),
    }
    if random.random() < 0.1:
        fields["start_at"] = START + timedelta(seconds=random.uniform(0, mood.horizon_s))
    if not mood.innocent:
        fields["suspend"] = random.random() < 0.05
        fields["deadline_s"] = random.choice([None, None, None, 5.0, 30.0])
        fields["start_deadline_s"] = random.choice([None, None, 15.0, 60.0])
    return Spec(**fields)


def commands_of(random: Random, mood: Mood) -> list[tuple[float, str]]:
    """
    What a caller asks of its job later, each with how long after the job was accepted.
    """
    if mood.innocent:
        return []
    commands: list[tuple[float, str]] = []
    if random.random() < 0.25:
        commands.append((_when(random), "suspend"))
        if random.random() < 0.8:
            commands.append((commands[0][0] + _when(random), "resume"))
    if random.random() < 0.3:
        commands += [(_when(random), "cancel")] * random.choice([1, 1, 2])
    if random.random() < 0.1:
        commands.append((_when(random) + 30.0, "retry"))
    return sorted(commands)


def _when(random: Random) -> float:
    return random.choice([0.0, random.uniform(0, 2), random.uniform(0, 40)])


Program = Mapping[str, Any]
