"""
The SQLite store: one file, one process, every acknowledged commit on disk.

Belongs here: the ports over apsw (`store`), how a step becomes rows (`rows`, `ledger`), how many callers share one
flush (`committer`), which index answers a page (`pages`), all SQL (`queries`, `migrations/`), and how the file is
opened, checked, locked and migrated (`file`, `lock`, `migrate`). Not here: a decision about a job.

The file is readable with any `sqlite3`: documents are JSON, times are microseconds since 1970 in UTC. Only not from
within this process through Python's own module: its copy of SQLite does not know of the locks that apsw's copy holds,
and drops them when it closes the file (POSIX locks belong to the process). Source: "How To Corrupt An SQLite Database
File", sqlite.org/howtocorrupt.html, section 2.2.1.
"""
