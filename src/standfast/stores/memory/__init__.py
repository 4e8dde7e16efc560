"""
The memory store: the ports kept in plain collections, for tests and `--store memory`.

Belongs here: the shortest code that passes the store contract. Not here: anything durable; what was stored ends with
the process.
"""
