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
INSERT INTO jobs (uid, namespace, request_id, name, engine, queue, priority, retry_of, created_at, start_at,
                  origin_version, origin, phase, slot, revision, attempt, phase_since, updated_at, wake_at, finished_at,
                  state_version, state, id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

FIND_JOB = "SELECT id, revision FROM jobs WHERE uid = ?"

KNOWN_REQUEST = "SELECT uid FROM jobs WHERE namespace = ? AND request_id = ?"

MOVE_JOB = """
UPDATE jobs SET phase = ?, slot = ?, revision = ?, attempt = ?, phase_since = ?, updated_at = ?, wake_at = ?,
                finished_at = ?, state_version = ?, state = ?
WHERE id = ?
"""

TOUCH_JOB = """
UPDATE jobs SET revision = ?, attempt = ?, phase_since = ?, updated_at = ?, wake_at = ?, finished_at = ?,
                state_version = ?, state = ?
WHERE id = ?
"""
"""Apart from `MOVE_JOB` because SQLite rewrites every index that a statement names, whether or not the value moved."""

INSERT_ATTEMPT = """
INSERT INTO attempts (incarnation, begun_at, sent_at, sends, engine_status, engine_ref, seen_at, started_at, ended_at,
                      closed_at, ending, failure_class, failure_code, version, document, id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

UPDATE_ATTEMPT = """
UPDATE attempts SET sent_at = ?, sends = ?, engine_status = ?, engine_ref = ?, seen_at = ?, started_at = ?,
                    ended_at = ?, closed_at = ?, ending = ?, failure_class = ?, failure_code = ?, version = ?,
                    document = ?
WHERE id = ?
"""

APPEND_EVENT = "INSERT INTO events (seq, job, revision, at, actor, version, document) VALUES (?, ?, ?, ?, ?, ?, ?)"

PUT_LABEL = "INSERT INTO labels (key, value, job) VALUES (?, ?, ?)"

DROP_LABEL = "DELETE FROM labels WHERE key = ? AND value = ? AND job = ?"

DROP_JOB = "DELETE FROM jobs WHERE id = ?"
"""Its attempts and events go with it."""

NEW_SLOT = "INSERT INTO slots (namespace, engine, queue, phase, count) VALUES (?, ?, ?, ?, 0) RETURNING id"

COUNT_SLOT = "UPDATE slots SET count = count + ? WHERE id = ?"

NEW_EPOCH = "INSERT INTO epochs (fence, begun_at, seen_at, newest_seq, disorder_us) VALUES (?, ?, ?, ?, ?)"

SEE_EPOCH = "UPDATE epochs SET seen_at = max(seen_at, ?), newest_seq = ?, disorder_us = ? WHERE fence = ?"

# --- reading ---------------------------------------------------------------------------------------------------------

JOB_COLUMNS = """
jobs.id, jobs.uid, jobs.namespace, jobs.request_id, jobs.name, jobs.retry_of, jobs.created_at, jobs.origin_version,
jobs.origin, jobs.phase, jobs.revision, jobs.attempt, jobs.phase_since, jobs.updated_at, jobs.wake_at,
jobs.finished_at, jobs.state_version, jobs.state
"""

ATTEMPTS_OF_JOB = """
SELECT id & 65535, incarnation, begun_at, sent_at, sends, engine_status, engine_ref, seen_at, started_at, ended_at,
       closed_at, ending, version, document
FROM attempts WHERE id BETWEEN ?1 << 16 AND ?1 << 16 | 65535 ORDER BY id
"""

JOB_BY_UID = f"SELECT {JOB_COLUMNS} FROM jobs WHERE uid = ?"

JOB_BY_REQUEST = f"SELECT {JOB_COLUMNS} FROM jobs WHERE namespace = ? AND request_id = ?"

JOBS_BY_WAKE = "SELECT wake_at, uid, id FROM jobs WHERE wake_at IS NOT NULL ORDER BY wake_at, uid"
"""To be read as far as needed."""

JOB_BY_ID = f"SELECT {JOB_COLUMNS} FROM jobs WHERE id = ?"

READY = f"""
SELECT {JOB_COLUMNS} FROM jobs
WHERE phase = 'queued' AND wake_at IS NULL AND engine = ? AND queue = ? AND (start_at IS NULL OR start_at <= ?)
ORDER BY priority DESC, uid LIMIT ?
"""

SCHEDULED = f"""
SELECT {JOB_COLUMNS} FROM jobs
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
SELECT jobs.id, jobs.uid, jobs.engine, jobs.attempt, jobs.phase
FROM slots CROSS JOIN jobs INDEXED BY jobs_by_slot ON jobs.slot = slots.id
WHERE slots.phase IN ('launching', 'running', 'stopping', 'uncertain') AND slots.count > 0
"""

OLDEST_UNFINISHED = """
SELECT min((SELECT created_at FROM jobs INDEXED BY jobs_by_slot WHERE slot = slots.id ORDER BY id LIMIT 1))
FROM slots WHERE slots.phase NOT IN ('succeeded', 'failed', 'cancelled') AND slots.count > 0
"""
"""By acceptance, so up to the disorder later than the earliest."""

SLOTS = "SELECT id, namespace, engine, queue, phase, count FROM slots"

EPOCHS = "SELECT fence, begun_at, seen_at FROM epochs ORDER BY fence"

PROGRESS = """
SELECT max(newest_seq, (SELECT ifnull(max(seq), 0) FROM events)), disorder_us FROM epochs ORDER BY fence DESC LIMIT 1
"""

NEWEST_JOB = "SELECT id, created_at FROM jobs WHERE id = (SELECT max(id) FROM jobs)"

NEWEST_UID = "SELECT uid FROM jobs ORDER BY uid DESC LIMIT 1"

NEWEST_EVENT_AT = "SELECT at FROM events WHERE seq = (SELECT max(seq) FROM events)"

CREATED_FROM = "SELECT id, created_at FROM jobs NOT INDEXED WHERE id >= ? AND id < ? ORDER BY id LIMIT 1"

EVENT_COLUMNS = """
events.seq, jobs.uid, jobs.namespace, events.revision, events.at, events.actor, events.version, events.document,
jobs.name, jobs.request_id, jobs.retry_of, jobs.origin_version, jobs.origin
"""

_EVENTS = f"""
SELECT {EVENT_COLUMNS}
FROM events {{source}} CROSS JOIN jobs ON jobs.id = events.job
WHERE {{which}} AND events.seq > ? ORDER BY events.seq LIMIT ?
"""

EVENTS = _EVENTS.format(source="", which="true")
EVENTS_OF_JOB = _EVENTS.format(
    source="INDEXED BY events_by_job", which="events.job = (SELECT id FROM jobs WHERE uid = ?)"
)
EVENTS_OF_JOB_IN_NAMESPACE = _EVENTS.format(
    source="INDEXED BY events_by_job",
    which="events.job = (SELECT id FROM jobs WHERE uid = ?) AND jobs.namespace = ?",
)
EVENTS_OF_NAMESPACE = _EVENTS.format(source="", which="jobs.namespace = ? AND events.seq <= ?")
"""Among so many numbers; most of them are looked at."""

EVENTS_OF_FEW_JOBS = f"""
SELECT {EVENT_COLUMNS}
FROM slots CROSS JOIN jobs INDEXED BY jobs_by_slot ON jobs.slot = slots.id
     CROSS JOIN events INDEXED BY events_by_job ON events.job = jobs.id
WHERE slots.namespace = ? AND events.seq > ? ORDER BY events.seq LIMIT ?
"""
"""For a namespace with few jobs: all their events are sorted."""

# --- pages: one way in, then the rest as conditions -------------------------------------------------------------------

_PAGE = f"SELECT {JOB_COLUMNS} FROM {{way}} {{rest}} ORDER BY jobs.id DESC LIMIT ?"

PAGE_BY_ID = _PAGE.format(way="jobs NOT INDEXED WHERE jobs.id < ? AND jobs.id > ?", rest="{rest}")

PAGE_BY_SLOT = _PAGE.format(
    way="jobs INDEXED BY jobs_by_slot WHERE jobs.slot = ? AND jobs.id < ? AND jobs.id > ?", rest="{rest}"
)

PAGE_BY_LABEL = f"""
SELECT {JOB_COLUMNS}
FROM labels CROSS JOIN jobs NOT INDEXED ON jobs.id = labels.job
WHERE labels.key = ? AND labels.value = ? AND labels.job < ? AND labels.job > ? {{rest}}
ORDER BY labels.job DESC LIMIT ?
"""

FEW = "SELECT id FROM jobs INDEXED BY {index} WHERE {range} AND id < ? AND id > ? ORDER BY id DESC"
"""For a way in that is not in the order of ids: few enough to be sorted."""

PAGE_ONE = _PAGE.format(way="jobs NOT INDEXED WHERE jobs.id = ?", rest="{rest}")

PROBE = "SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {range} LIMIT ?)"
"""How many there are, counted no further than a bound."""

HAS_LABEL = "EXISTS (SELECT 1 FROM labels WHERE labels.key = ? AND labels.value = ? AND labels.job = jobs.id)"
