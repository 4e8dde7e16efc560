"""
The command line: `standfast VERB …`, for people and for scripts.

Belongs here: words in, words out. stdout is data and stderr is talk; every verb goes through `standfast.client`. Does
not belong here: deciding anything about a job, or touching a store; only `embedded` and `serve` start a control plane.
"""
