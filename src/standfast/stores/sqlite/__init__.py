"""
The SQLite store: one file, one process, every acknowledged commit on disk.

Belongs here: the ports over apsw (`store`), how a step becomes rows (`rows`, `ledger`), how many callers share one
flush (`committer`), which index answers a page (`pages`), all SQL (`queries`, `migrations/`), and how the file is
opened, checked, locked and migrated (`file`, `lock`, `migrate`). Not here: a decision about a job.

The file is readable with any `sqlite3`: documents are JSON, times are microseconds since 1970 in UTC.
"""
