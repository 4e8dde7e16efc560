"""
Stores: one folder per database, each with `store.py` (the ports), `rows.py` (record to row and back, nothing clever)
and, where there is SQL, `queries.py` and numbered migrations.

Does not belong here: a decision about a job.
"""
