"""
The shell around the core: gathers what is the case, lets `step` decide, commits, acts.

Belongs here: intake (commands), turn (one batch of one engine), loop (who is due, bounds, drain), admission (whose turn
in which queue), observer (batched looks), sweep (orphans, retention), telemetry (wraps ports), failpoints. Does not
belong here: a rule about jobs (core), an adapter's name (wiring).
"""
