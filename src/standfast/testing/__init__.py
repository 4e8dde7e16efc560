"""
What Standfast ships for those who write adapters: contract suites, the simulation, builders of jobs.

Belongs here: code that judges an adapter or the runtime from outside, free of pytest. Not here: tests themselves.
"""
