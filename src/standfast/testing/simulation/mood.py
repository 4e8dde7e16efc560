"""
What kind of bad luck a seed has: drawn once, so that some stories are mild and others combine everything.

Belongs here: rates and flags. Varying them matters as much as the faults: where everything fails all the time, nothing
gets far enough to go wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from standfast.engines.fake import ALL
from standfast.ports.engine import Capability


@dataclass(frozen=True)
class Mood:
    """
    The rates of one story.

    crash: per port call, dying before or after it. unavailable: per store call. lose_request, lose_reply, late: per
    engine call. late_s: longest delay of a late request. skew_s: how far clocks differ between two lives. act_every_s:
    mean time between the director's acts. forgets, kills: whether restarts of the engine do. innocent: whether no job
    has anything wrong with it. capabilities, quiet_s: of the engine.
    """

    crash: float
    unavailable: float
    lose_request: float
    lose_reply: float
    late: float
    late_s: float
    skew_s: float
    act_every_s: float
    forgets: bool
    kills: bool
    innocent: bool
    capabilities: frozenset[Capability]
    quiet_s: float
    jobs: int
    horizon_s: float
    slots: int
    launches: int


def mood_of(random: Random) -> Mood:
    """
    Draw a mood.
    """
    capabilities = ALL
    quiet_s = 0.0
    forgets = random.random() < 0.3
    late_s = random.choice([0.5, 8.0, 45.0, 200.0 if forgets else 45.0])
    if random.random() < 0.35:
        # An engine that takes a handle twice: what is under way for longer than its quiet time must not exist.
        capabilities -= {Capability.REFUSES_TWICE}
        quiet_s, late_s = 20.0, min(late_s, 8.0)
    if random.random() < 0.3:
        capabilities -= {Capability.HINTS}
    if random.random() < 0.1:
        capabilities -= {Capability.PROVES_GONE}
    if random.random() < 0.2:
        capabilities -= {Capability.LISTS}
    return Mood(
        crash=random.choice([0.0, 0.002, 0.01, 0.03]),
        unavailable=random.choice([0.0, 0.0, 0.02]),
        lose_request=random.choice([0.0, 0.03, 0.15]),
        lose_reply=random.choice([0.0, 0.03, 0.15]),
        late=random.choice([0.0, 0.1, 0.4]),
        late_s=late_s,
        skew_s=random.choice([0.0, 0.0, 5.0, 120.0]),
        act_every_s=random.choice([15.0, 40.0, 200.0]),
        forgets=forgets,
        kills=random.random() < 0.3,
        innocent=random.random() < 0.3,
        capabilities=capabilities,
        quiet_s=quiet_s,
        jobs=random.randint(4, 10),
        horizon_s=random.choice([60.0, 150.0, 300.0]),
        slots=random.choice([2, 4, 64]),
        launches=random.choice([1, 2, 8]),
    )
