"""
All SQL of the running store, by name; the tests hold each one's query plan.

Belongs here: statements and the fragments a page is composed of. Not here: the schema (`migrations/`), or which of the
fragments a query needs (`pages`).
"""

from __future__ import annotations

PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 1000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA cache_size = -32768",
)
"""
For both connections. FULL makes every commit wait for the disk; 1000 pages keep checkpoints short.
"""

# --- writing ---------------------------------------------------------------------------------------------------------

INSERT_JOB = """
INSERT INTO jobs (uid, namespace, request_id, name, engine, queue, priority, retry_of, created_at, start_at, phase,
                  slot, revision, attempt, outcome, failure_class, wake_at, finished_at, version, document)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""
"""Changes nothing if the uid or the request id is known. No RETURNING: it doubled the cost of the statement."""

FIND_JOB = "SELECT id, revision FROM jobs WHERE uid = ?"

MOVE_JOB = """
UPDATE jobs SET phase = ?, slot = ?, revision = ?, attempt = ?, outcome = ?, failure_class = ?, wake_at = ?,
                finished_at = ?, version = ?, document = ?
WHERE id = ?
"""

TOUCH_JOB = """
UPDATE jobs SET revision = ?, attempt = ?, outcome = ?, failure_class = ?, wake_at = ?, finished_at = ?, version = ?,
                document = ?
WHERE id = ?
"""
"""Apart from `MOVE_JOB` because SQLite rewrites every index that a statement names, whether or not the value moved."""

INSERT_ATTEMPT = """
INSERT INTO attempts (incarnation, handle, begun_at, sends, engine_status, engine_ref, seen_at, started_at, ended_at,
                      closed_at, ending, failure_class, failure_code, job, number)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

UPDATE_ATTEMPT = """
UPDATE attempts SET sends = ?, engine_status = ?, engine_ref = ?, seen_at = ?, started_at = ?, ended_at = ?,
                    closed_at = ?, ending = ?, failure_class = ?, failure_code = ?
WHERE job = ? AND number = ?
"""

APPEND_EVENT = """
INSERT INTO events (seq, job, namespace, revision, at, actor, version, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""

PUT_LABEL = "INSERT INTO labels (key, value, uid) VALUES (?, ?, ?)"

DROP_LABEL = "DELETE FROM labels WHERE key = ? AND value = ? AND uid = ?"

DROP_JOB = "DELETE FROM jobs WHERE uid = ?"
"""Its attempts and events go with it."""

NEW_SLOT = "INSERT INTO slots (namespace, engine, queue, phase, count) VALUES (?, ?, ?, ?, 0) RETURNING id"

COUNT_SLOT = "UPDATE slots SET count = count + ? WHERE id = ?"

NEW_EPOCH = "INSERT INTO epochs (fence, begun_at, seen_at, newest_seq, disorder_us) VALUES (?, ?, ?, ?, ?)"

SEE_EPOCH = "UPDATE epochs SET seen_at = max(seen_at, ?), newest_seq = ?, disorder_us = ? WHERE fence = ?"

# --- reading ---------------------------------------------------------------------------------------------------------

JOB_BY_UID = "SELECT version, document FROM jobs WHERE uid = ?"

JOB_BY_REQUEST = "SELECT version, document FROM jobs WHERE namespace = ? AND request_id = ?"

JOBS_BY_WAKE = "SELECT wake_at, uid, version, document FROM jobs WHERE wake_at IS NOT NULL ORDER BY wake_at, uid"
"""To be read as far as needed."""

READY = """
SELECT version, document FROM jobs
WHERE phase = 'queued' AND wake_at IS NULL AND engine = ? AND queue = ? AND (start_at IS NULL OR start_at <= ?)
ORDER BY priority DESC, uid LIMIT ?
"""

SCHEDULED = """
SELECT version, document FROM jobs
WHERE phase = 'queued' AND wake_at IS NOT NULL AND engine = ? AND queue = ? AND wake_at <= ?
ORDER BY priority DESC, uid LIMIT ?
"""
"""Those whose start time has come but whose turn has not: few, so they are sorted."""

AHEAD = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_ready
    WHERE phase = 'queued' AND wake_at IS NULL AND engine = ?1 AND queue = ?2 AND priority > ?3
    UNION ALL
    SELECT 1 FROM jobs INDEXED BY jobs_ready
    WHERE phase = 'queued' AND wake_at IS NULL AND engine = ?1 AND queue = ?2 AND priority = ?3 AND uid < ?4
    LIMIT ?5)
"""

WATCHED = """
SELECT jobs.uid, jobs.engine, attempts.handle, jobs.phase
FROM slots CROSS JOIN jobs INDEXED BY jobs_by_slot ON jobs.slot = slots.id
     JOIN attempts ON attempts.job = jobs.id AND attempts.number = jobs.attempt
WHERE slots.phase IN ('launching', 'running', 'stopping', 'uncertain') AND slots.count > 0
"""

OLDEST_UNFINISHED = """
SELECT min((SELECT created_at FROM jobs INDEXED BY jobs_by_slot WHERE slot = slots.id ORDER BY uid LIMIT 1))
FROM slots WHERE slots.phase NOT IN ('succeeded', 'failed', 'cancelled') AND slots.count > 0
"""
"""By uid, so up to the disorder later than the earliest."""

SLOTS = "SELECT id, namespace, engine, queue, phase, count FROM slots"

EPOCHS = "SELECT fence, begun_at, seen_at FROM epochs ORDER BY fence"

PROGRESS = "SELECT newest_seq, disorder_us FROM epochs ORDER BY fence DESC LIMIT 1"

NEWEST_UID = "SELECT uid FROM jobs ORDER BY uid DESC LIMIT 1"

LATEST_CREATION = "SELECT created_at FROM jobs ORDER BY created_at DESC LIMIT 1"

CREATION_BEHIND = "SELECT created_at FROM jobs INDEXED BY jobs_by_uid WHERE uid > ? ORDER BY uid LIMIT 1"

UID_BEFORE = "SELECT uid FROM jobs INDEXED BY jobs_by_creation WHERE created_at < ? ORDER BY created_at DESC LIMIT 1"

UID_FROM = "SELECT uid FROM jobs INDEXED BY jobs_by_creation WHERE created_at >= ? ORDER BY created_at LIMIT 1"

_EVENTS = """
SELECT events.seq, jobs.uid, events.namespace, events.revision, events.at, events.actor, events.version,
       events.document
FROM events {source} CROSS JOIN jobs ON jobs.id = events.job
WHERE {which} AND events.seq > ? ORDER BY events.seq LIMIT ?
"""

EVENTS = _EVENTS.format(source="", which="true")
EVENTS_OF_NAMESPACE = _EVENTS.format(source="INDEXED BY events_by_namespace", which="events.namespace = ?")
EVENTS_OF_JOB = _EVENTS.format(
    source="INDEXED BY events_by_job", which="events.job = (SELECT id FROM jobs WHERE uid = ?)"
)
EVENTS_OF_JOB_IN_NAMESPACE = _EVENTS.format(
    source="INDEXED BY events_by_job",
    which="events.job = (SELECT id FROM jobs WHERE uid = ?) AND events.namespace = ?",
)

# --- pages: one way in, then the rest as conditions -------------------------------------------------------------------

_PAGE = "SELECT jobs.uid, jobs.version, jobs.document FROM {way} {rest} ORDER BY jobs.uid DESC LIMIT ?"

PAGE_BY_UID = _PAGE.format(way="jobs INDEXED BY jobs_by_uid WHERE jobs.uid < ? AND jobs.uid > ?", rest="{rest}")

PAGE_BY_SLOT = _PAGE.format(
    way="jobs INDEXED BY jobs_by_slot WHERE jobs.slot = ? AND jobs.uid < ? AND jobs.uid > ?", rest="{rest}"
)

PAGE_BY_LABEL = """
SELECT jobs.uid, jobs.version, jobs.document
FROM labels CROSS JOIN jobs INDEXED BY jobs_by_uid ON jobs.uid = labels.uid
WHERE labels.key = ? AND labels.value = ? AND labels.uid < ? AND labels.uid > ? {rest}
ORDER BY labels.uid DESC LIMIT ?
"""

FEW = "SELECT uid FROM jobs INDEXED BY {index} WHERE {range} AND uid < ? AND uid > ? ORDER BY uid DESC"
"""For a way in that is not in the order of uids: few enough to be sorted."""

PAGE_ONE = _PAGE.format(way="jobs INDEXED BY jobs_by_uid WHERE jobs.uid = ?", rest="{rest}")

PROBE = "SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {range} LIMIT ?)"
"""How many there are, counted no further than a bound."""

HAS_LABEL = "EXISTS (SELECT 1 FROM labels WHERE labels.key = ? AND labels.value = ? AND labels.uid = jobs.uid)"
