"""
The simulation: the real runtime on a virtual clock, over an engine and a store that fail in every way they may.

One seed is one story: jobs are submitted, cancelled, suspended; control planes crash before or after any effect and
come back with another clock; requests and replies are late or lost; the engine falls silent, restarts, forgets. Then
everything is healed, and every job must come to a good end. Every step is judged by the checkers. The same seed tells
the same story, also in another process: `python -m standfast.testing.simulation SEED`.

Belongs here: the stage (`loop`, `stage`, `network`, `storage`), what happens on it (`mood`, `workload`, `story`), and
what must hold (`checkers`). Not here: a second implementation of anything that is being tested.
"""

from standfast.testing.simulation.story import Report, tell

__all__ = ["Report", "tell"]
