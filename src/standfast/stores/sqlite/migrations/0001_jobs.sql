-- Jobs, their attempts, labels and events; the kept counters; the epochs.
-- Times are microseconds since 1970-01-01 in UTC. The CHECKs repeat what the job machine promises.
-- Everything is stored once: what is searched or changes with every step is a column, the rest is in a document beside
-- it. Every page that a commit touches is written to the log and flushed, so an index must earn its place.

-- One row per (namespace, engine, queue, phase) that ever was: the kept counters, and what every job's row refers to.
CREATE TABLE slots (
    id         INTEGER PRIMARY KEY,
    namespace  TEXT NOT NULL,
    engine     TEXT NOT NULL,
    queue      TEXT NOT NULL,
    phase      TEXT NOT NULL CHECK (phase IN ('queued', 'launching', 'running', 'stopping', 'backing_off', 'suspended',
                                              'uncertain', 'succeeded', 'failed', 'cancelled')),
    count      INTEGER NOT NULL CHECK (count >= 0)
) STRICT;

CREATE UNIQUE INDEX slots_by_name ON slots (namespace, engine, queue, phase);
CREATE UNIQUE INDEX slots_whole ON slots (id, phase, queue, engine, namespace);

-- id: grows in the order of acceptance, which is the order of pages. origin: what never changes. state: what is rarely
-- there, NULL if nothing is. No IN in these CHECKs: SQLite builds a table for each list, in every statement, which
-- doubled the cost of a row.
CREATE TABLE jobs (
    id              INTEGER PRIMARY KEY,
    uid             TEXT NOT NULL,
    namespace       TEXT NOT NULL,
    request_id      TEXT NOT NULL,
    name            TEXT NOT NULL,
    engine          TEXT NOT NULL,
    queue           TEXT NOT NULL,
    priority        INTEGER NOT NULL,
    retry_of        TEXT,
    created_at      INTEGER NOT NULL,
    start_at        INTEGER,
    origin_version  INTEGER NOT NULL CHECK (origin_version >= 1),
    origin          TEXT NOT NULL,
    phase           TEXT NOT NULL,
    slot            INTEGER NOT NULL,
    revision        INTEGER NOT NULL CHECK (revision >= 1),
    attempt         INTEGER NOT NULL CHECK (attempt >= 0),
    phase_since     INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    wake_at         INTEGER,
    finished_at     INTEGER,
    state_version   INTEGER NOT NULL CHECK (state_version >= 1),
    state           TEXT,
    -- Holds the phase to its list, and the counters' names to the columns.
    FOREIGN KEY (slot, phase, queue, engine, namespace) REFERENCES slots (id, phase, queue, engine, namespace),
    CHECK ((finished_at IS NOT NULL) = (phase = 'succeeded' OR phase = 'failed' OR phase = 'cancelled')),
    -- Past the write boundary there is an attempt, and with it a handle.
    CHECK (attempt >= 1 OR phase = 'queued' OR phase = 'suspended' OR phase = 'cancelled'),
    -- Only its start time ever wakes a queued job; `queued` rests on this.
    CHECK (phase <> 'queued' OR wake_at IS NULL OR wake_at IS start_at)
) STRICT;

CREATE UNIQUE INDEX jobs_by_uid ON jobs (uid);
CREATE UNIQUE INDEX jobs_by_request ON jobs (namespace, request_id);
CREATE INDEX jobs_by_slot ON jobs (slot);
CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_origin ON jobs (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX jobs_by_wake ON jobs (wake_at, uid) WHERE wake_at IS NOT NULL;
CREATE INDEX jobs_ready ON jobs (engine, queue, priority DESC, uid) WHERE phase = 'queued' AND wake_at IS NULL;
CREATE INDEX jobs_scheduled ON jobs (engine, queue, wake_at) WHERE phase = 'queued' AND wake_at IS NOT NULL;

CREATE TRIGGER jobs_stay_final BEFORE UPDATE OF phase ON jobs
WHEN old.finished_at IS NOT NULL AND new.phase <> old.phase
BEGIN
    SELECT raise(ABORT, 'a finished job keeps its phase');
END;

CREATE TRIGGER jobs_end_before_they_go BEFORE DELETE ON jobs
WHEN old.finished_at IS NULL
BEGIN
    SELECT raise(ABORT, 'an unfinished job is not removed');
END;

-- id: of the job, times 65536, plus the attempt's number, so that the attempts of a job stand together and need no index.
-- The handle is 'sf-' || substr(uid of the job, 5) || '-' || number, unique as both are. document: what is rarely there,
-- and the evidence. Not WITHOUT ROWID: its inner pages would hold whole rows, six to a page, and be eight deep.
CREATE TABLE attempts (
    id             INTEGER PRIMARY KEY CHECK (id & 65535 >= 1),
    incarnation    TEXT NOT NULL,
    begun_at       INTEGER NOT NULL,
    sent_at        INTEGER NOT NULL,
    sends          INTEGER NOT NULL CHECK (sends >= 1),
    engine_status  TEXT,
    engine_ref     TEXT,
    seen_at        INTEGER,
    started_at     INTEGER,
    ended_at       INTEGER,
    closed_at      INTEGER,
    ending         TEXT,
    failure_class  TEXT,
    failure_code   TEXT,
    version        INTEGER NOT NULL CHECK (version >= 1),
    document       TEXT,
    CHECK ((ending IS NULL) = (closed_at IS NULL)),
    CHECK ((failure_class IS NULL) = (failure_code IS NULL))
) STRICT;

CREATE TRIGGER attempts_go_with_their_job AFTER DELETE ON jobs
BEGIN
    DELETE FROM attempts WHERE id BETWEEN old.id << 16 AND old.id << 16 | 65535;
END;

CREATE TABLE labels (
    key    TEXT NOT NULL,
    value  TEXT NOT NULL,
    job    INTEGER NOT NULL,
    PRIMARY KEY (key, value, job)
) STRICT, WITHOUT ROWID;

-- The audit log and the event stream: appended to, and gone only with the job's record.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    job        INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    revision   INTEGER NOT NULL CHECK (revision >= 1),
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    version    INTEGER NOT NULL CHECK (version >= 1),
    document   TEXT NOT NULL
) STRICT;

CREATE INDEX events_by_job ON events (job);

CREATE TRIGGER events_are_not_rewritten BEFORE UPDATE ON events
BEGIN
    SELECT raise(ABORT, 'events are append-only');
END;

CREATE TRIGGER events_go_with_their_job BEFORE DELETE ON events
WHEN EXISTS (SELECT 1 FROM jobs WHERE id = old.job)
BEGIN
    SELECT raise(ABORT, 'events go only with their job');
END;

-- The lives of control planes on this store. seen_at: a sign of life; the newest event is another. newest_seq: of the
-- newest event that ever was, if it was removed. disorder_us: no job was made longer than this before another that was
-- accepted earlier, so a range of times is a range of ids.
CREATE TABLE epochs (
    fence        INTEGER PRIMARY KEY,
    begun_at     INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL CHECK (seen_at >= begun_at),
    newest_seq   INTEGER NOT NULL CHECK (newest_seq >= 0),
    disorder_us  INTEGER NOT NULL CHECK (disorder_us >= 0)
) STRICT;
