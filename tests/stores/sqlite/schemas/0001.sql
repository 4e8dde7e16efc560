PRAGMA application_id = 1397126004;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
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
INSERT INTO "attempts" VALUES(131073,'life-1',1767225641500000,1767225641500000,1,NULL,NULL,NULL,NULL,NULL,1767225731000000,'never_ran','submission_refused','left_no_trace',1,'{"resources":{},"failure":{"failure_class":"submission_refused","code":"left_no_trace","message":"sent 1 times, and the engine holds no trace of it","retryable":true,"free":true,"suggestion":"The engine''s own reason is in the evidence."},"evidence":[{"claim":"gone","verdict":"proven","source":"fake.look","at":"2026-01-01T00:02:11Z"}]}');
INSERT INTO "attempts" VALUES(196609,'life-1',1767225771000000,1767225771000000,1,NULL,NULL,NULL,NULL,NULL,1767225776000000,'never_ran','submission_refused','left_no_trace',1,'{"resources":{},"failure":{"failure_class":"submission_refused","code":"left_no_trace","message":"sent 1 times, and the engine holds no trace of it","retryable":true,"free":true,"suggestion":"The engine''s own reason is in the evidence."},"evidence":[{"claim":"gone","verdict":"proven","source":"fake.look","at":"2026-01-01T00:02:56Z"}]}');
INSERT INTO "attempts" VALUES(327681,'life-1',1767226020500000,1767226020500000,1,NULL,NULL,NULL,NULL,NULL,1767226024000000,'failed','submission_refused','test.refused',1,'{"resources":{},"failure":{"failure_class":"submission_refused","code":"test.refused","message":"no","retryable":false,"suggestion":"The engine''s own reason is in the evidence."},"evidence":[{"claim":"outcome","verdict":"proven","source":"fake.launch","at":"2026-01-01T00:07:04Z","rank":3,"detail":"refused: no"},{"claim":"gone","verdict":"proven","source":"fake.launch","at":"2026-01-01T00:07:04Z","detail":"it never ran"}]}');
INSERT INTO "attempts" VALUES(458753,'life-1',1767225771000000,1767225771000000,1,NULL,NULL,NULL,NULL,NULL,1767225772000000,'never_ran','submission_refused','left_no_trace',1,'{"resources":{},"failure":{"failure_class":"submission_refused","code":"left_no_trace","message":"sent 1 times, and the engine holds no trace of it","retryable":true,"free":true,"suggestion":"The engine''s own reason is in the evidence."},"evidence":[{"claim":"gone","verdict":"proven","source":"fake.look","at":"2026-01-01T00:02:52Z"}]}');
INSERT INTO "attempts" VALUES(458754,'life-1',1767226023500000,1767226023500000,1,'ENDED',NULL,NULL,NULL,NULL,1767226209500000,'failed','user_error','test.user_error',1,'{"resources":{},"stop":{"cause":"cancel","asked_at":"2026-01-01T00:08:34Z","by":"ann","reason":"no longer needed"},"failure":{"failure_class":"user_error","code":"test.user_error","message":"boom","retryable":false,"suggestion":"Read the exception in the attempt''s evidence and mend the program."},"evidence":[{"claim":"outcome","verdict":"proven","source":"fake.exit_status","at":"2026-01-01T00:10:09.500000Z","rank":4,"detail":"failed"},{"claim":"gone","verdict":"proven","source":"fake.processes","at":"2026-01-01T00:10:09.500000Z"}]}');
INSERT INTO "attempts" VALUES(786433,'life-1',1767226070500000,1767226070500000,1,'ENDED','run-1',1767226071000000,1767226071000000,NULL,1767226163500000,'failed','node_lost','test.node_lost',1,'{"resources":{},"stop":{"cause":"deadline","asked_at":"2026-01-01T00:09:17.500000Z","by":"standfast","reason":"ran longer than 30 s"},"failure":{"failure_class":"node_lost","code":"test.node_lost","message":"boom","retryable":true,"suggestion":"Nothing, if it was one machine; look at the host if it repeats."},"evidence":[{"claim":"outcome","verdict":"proven","source":"fake.exit_status","at":"2026-01-01T00:09:23.500000Z","rank":4,"detail":"failed"},{"claim":"gone","verdict":"proven","source":"fake.processes","at":"2026-01-01T00:09:23.500000Z"}]}');
INSERT INTO "attempts" VALUES(851969,'life-1',1767226114000000,1767226114000000,1,'ENDED','run-3',1767226157500000,NULL,NULL,1767226206500000,'succeeded',NULL,NULL,1,'{"resources":{},"stop":{"cause":"cancel","asked_at":"2026-01-01T00:09:20.500000Z","by":"ann","reason":"no longer needed"},"evidence":[{"claim":"outcome","verdict":"proven","source":"fake.exit_status","at":"2026-01-01T00:10:06.500000Z","rank":4,"detail":"succeeded"},{"claim":"gone","verdict":"proven","source":"fake.processes","at":"2026-01-01T00:10:06.500000Z"}]}');
CREATE TABLE epochs (
    fence        INTEGER PRIMARY KEY,
    begun_at     INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL CHECK (seen_at >= begun_at),
    newest_seq   INTEGER NOT NULL CHECK (newest_seq >= 0),
    disorder_us  INTEGER NOT NULL CHECK (disorder_us >= 0)
) STRICT;
INSERT INTO "epochs" VALUES(1,1767225600000000,1767226213500000,57,0);
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    job        INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    revision   INTEGER NOT NULL CHECK (revision >= 1),
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    version    INTEGER NOT NULL CHECK (version >= 1),
    document   TEXT NOT NULL
) STRICT;
INSERT INTO "events" VALUES(3,2,1,1767225641000000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(4,3,1,1767225641000000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(5,2,2,1767225641500000,'standfast',1,'{"type":"LaunchBegun","number":1,"incarnation":"life-1","resources":{}}');
INSERT INTO "events" VALUES(7,5,1,1767225681500000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(9,7,1,1767225721500000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(12,2,3,1767225731000000,'standfast',1,'{"type":"RetryScheduled","end":{"ending":"never_ran","failure":{"failure_class":"submission_refused","code":"left_no_trace","message":"sent 1 times, and the engine holds no trace of it","retryable":true,"free":true,"suggestion":"The engine''s own reason is in the evidence."}},"delay_s":4.745,"because":"nothing of it ran, so this try costs nothing"}');
INSERT INTO "events" VALUES(14,9,1,1767225731000000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(15,10,1,1767225771000000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(16,7,2,1767225771000000,'standfast',1,'{"type":"LaunchBegun","number":1,"incarnation":"life-1","resources":{}}');
INSERT INTO "events" VALUES(18,3,2,1767225771000000,'ann',1,'{"type":"LaunchBegun","number":1,"incarnation":"life-1","resources":{}}');
INSERT INTO "events" VALUES(19,7,3,1767225771500000,'ann',1,'{"type":"BecameUncertain","doubt":"SubmitUnanswered","message":"sent, and no answer (no answer): it may be running","source":"fake.look"}');
INSERT INTO "events" VALUES(20,10,2,1767225772000000,'ann',1,'{"type":"Suspended","by":"ann"}');
INSERT INTO "events" VALUES(21,7,4,1767225772000000,'standfast',1,'{"type":"RetryScheduled","end":{"ending":"never_ran","failure":{"failure_class":"submission_refused","code":"left_no_trace","message":"sent 1 times, and the engine holds no trace of it","retryable":true,"free":true,"suggestion":"The engine''s own reason is in the evidence."}},"delay_s":1.63,"because":"nothing of it ran, so this try costs nothing"}');
INSERT INTO "events" VALUES(23,2,4,1767225775500000,'standfast',1,'{"type":"Suspended","by":"ann"}');
INSERT INTO "events" VALUES(24,3,3,1767225776000000,'ann',1,'{"type":"RetryScheduled","end":{"ending":"never_ran","failure":{"failure_class":"submission_refused","code":"left_no_trace","message":"sent 1 times, and the engine holds no trace of it","retryable":true,"free":true,"suggestion":"The engine''s own reason is in the evidence."}},"delay_s":0.21,"because":"nothing of it ran, so this try costs nothing"}');
INSERT INTO "events" VALUES(25,11,1,1767225776000000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(27,11,2,1767225816500000,'ann',1,'{"type":"Suspended","by":"ann"}');
INSERT INTO "events" VALUES(28,3,4,1767225856500000,'standfast',1,'{"type":"Cancelled","by":"ann","reason":"no longer needed"}');
INSERT INTO "events" VALUES(29,7,5,1767225856500000,'ann',1,'{"type":"Suspended","by":"ann"}');
INSERT INTO "events" VALUES(31,9,2,1767225856500000,'ann',1,'{"type":"Suspended","by":"ann"}');
INSERT INTO "events" VALUES(32,5,2,1767226020500000,'ann',1,'{"type":"LaunchBegun","number":1,"incarnation":"life-1","resources":{}}');
INSERT INTO "events" VALUES(33,7,6,1767226023500000,'ann',1,'{"type":"Resumed","by":"ann"}');
INSERT INTO "events" VALUES(34,7,7,1767226023500000,'standfast',1,'{"type":"LaunchBegun","number":2,"incarnation":"life-1","resources":{}}');
INSERT INTO "events" VALUES(36,5,3,1767226024000000,'ann',1,'{"type":"Failed","end":{"ending":"failed","failure":{"failure_class":"submission_refused","code":"test.refused","message":"no","retryable":false,"suggestion":"The engine''s own reason is in the evidence."}},"because":"one attempt was asked for"}');
INSERT INTO "events" VALUES(38,12,1,1767226030500000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(39,12,2,1767226070500000,'standfast',1,'{"type":"LaunchBegun","number":1,"incarnation":"life-1","resources":{}}');
INSERT INTO "events" VALUES(40,12,3,1767226071000000,'ann',1,'{"type":"Started","engine_status":"RUNNING","engine_ref":"run-1","started_at":"2026-01-01T00:07:51Z","source":"fake.look"}');
INSERT INTO "events" VALUES(41,13,1,1767226111000000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(42,13,2,1767226114000000,'standfast',1,'{"type":"LaunchBegun","number":1,"incarnation":"life-1","resources":{}}');
INSERT INTO "events" VALUES(43,7,8,1767226114000000,'standfast',1,'{"type":"StopRequested","cause":"cancel","by":"ann","reason":"no longer needed"}');
INSERT INTO "events" VALUES(44,14,1,1767226117000000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(45,7,9,1767226157000000,'standfast',1,'{"type":"BecameUncertain","doubt":"StopUnconfirmed","message":"the engine does not answer (no answer)","source":"fake.look"}');
INSERT INTO "events" VALUES(46,12,4,1767226157500000,'ann',1,'{"type":"StopRequested","cause":"deadline","by":"standfast","reason":"ran longer than 30 s"}');
INSERT INTO "events" VALUES(47,13,3,1767226157500000,'standfast',1,'{"type":"Started","engine_status":"RUNNING","engine_ref":"run-3","source":"fake.look"}');
INSERT INTO "events" VALUES(48,13,4,1767226160500000,'standfast',1,'{"type":"StopRequested","cause":"cancel","by":"ann","reason":"no longer needed"}');
INSERT INTO "events" VALUES(49,15,1,1767226160500000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(50,15,2,1767226163500000,'standfast',1,'{"type":"Cancelled","by":"ann","reason":"no longer needed"}');
INSERT INTO "events" VALUES(51,12,5,1767226163500000,'ann',1,'{"type":"RetryScheduled","end":{"ending":"failed","failure":{"failure_class":"node_lost","code":"test.node_lost","message":"boom","retryable":true,"suggestion":"Nothing, if it was one machine; look at the host if it repeats."},"engine_status":"ENDED","started_at":"2026-01-01T00:07:51Z"},"delay_s":4.899,"because":"node_lost is worth another attempt"}');
INSERT INTO "events" VALUES(52,16,1,1767226166500000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(53,17,1,1767226166500000,'standfast',1,'{"type":"Submitted","by":"ann"}');
INSERT INTO "events" VALUES(54,13,5,1767226206500000,'standfast',1,'{"type":"Succeeded","end":{"ending":"succeeded","engine_status":"ENDED"}}');
INSERT INTO "events" VALUES(55,7,10,1767226209500000,'standfast',1,'{"type":"Failed","end":{"ending":"failed","failure":{"failure_class":"user_error","code":"test.user_error","message":"boom","retryable":false,"suggestion":"Read the exception in the attempt''s evidence and mend the program."},"engine_status":"ENDED"},"because":"it failed by itself before the cancel reached it"}');
INSERT INTO "events" VALUES(56,11,3,1767226210000000,'ann',1,'{"type":"Cancelled","by":"ann","reason":"no longer needed"}');
INSERT INTO "events" VALUES(57,18,1,1767226213500000,'standfast',1,'{"type":"Submitted","by":"ann"}');
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
INSERT INTO "jobs" VALUES(2,'job_00000000000000000000000002','science','request-2','nightly','process','night',-1,NULL,1767225641000000,NULL,1,'{"digest":"sha256:521067a19ffe06cb009cabeb01541b728ef0025a4786e60527afb915b7eb1a45","spec":{"queue":"night","priority":-1,"deadline_s":30.0,"start_deadline_s":20.0,"retry":{"max_attempts":3},"ttl":{"compute_s":5.0}},"created_by":"ann","labels":{"team ü":"☃"}}','suspended',18,4,1,1767225775500000,1767225775500000,NULL,NULL,1,'{"because":"suspended by ann"}');
INSERT INTO "jobs" VALUES(3,'job_00000000000000000000000003','default','request-3','nightly-2','process','night',5,NULL,1767225641000000,NULL,1,'{"digest":"sha256:d2a90186f25f1accc4c6ef041266f468c2329a14669d2dff0c643c0c71a4ea80","spec":{"queue":"night","priority":5,"deadline_s":30.0,"retry":{"max_attempts":2},"ttl":{"logs_s":10.0}},"created_by":"ann"}','cancelled',21,4,1,1767225856500000,1767225856500000,1767225866500000,1767225856500000,1,'{"because":"cancelled by ann: no longer needed"}');
INSERT INTO "jobs" VALUES(5,'job_00000000000000000000000005','science','request-5','nightly-2','fake','night',-1,NULL,1767225681500000,NULL,1,'{"digest":"sha256:58f7e674b0377d40ad7ec2b8d5526bff5c27fbabcc4a84e80113ecba1658afd2","spec":{"engine":"fake","queue":"night","priority":-1,"deadline_s":30.0,"retry":{},"ttl":{"compute_s":5.0}},"created_by":"ann","labels":{"team ü":"☃","tier":"gold"}}','failed',26,3,1,1767226024000000,1767226024000000,1767226029000000,1767226024000000,1,'{"because":"one attempt was asked for"}');
INSERT INTO "jobs" VALUES(7,'job_00000000000000000000000007','science','request-7','n','process','default',5,'job_00000000000000000000000004',1767225721500000,1767225741500000,1,'{"digest":"sha256:6738b76467bcf8924c980ef0eebf5d33615a05a420d3afa5c7fb6651b5f8d726","spec":{"priority":5,"start_at":"2026-01-01T00:02:21.500000Z","deadline_s":30.0,"start_deadline_s":20.0,"retry":{"max_attempts":3},"ttl":{"logs_s":10.0}},"created_by":"ann","labels":{"team":"blue"}}','failed',38,10,2,1767226209500000,1767226209500000,1767226219500000,1767226209500000,1,'{"because":"it failed by itself before the cancel reached it"}');
INSERT INTO "jobs" VALUES(9,'job_00000000000000000000000009','science','request-9','backfill','process','night',5,NULL,1767225731000000,NULL,1,'{"digest":"sha256:99b277823c84f4442734635a25c6d66467e8551b2fe103aec6fedc63657f8029","spec":{"queue":"night","priority":5,"start_deadline_s":20.0,"retry":{},"ttl":{}},"created_by":"ann","labels":{"tier":"gold"}}','suspended',18,2,0,1767225856500000,1767225856500000,NULL,NULL,1,'{"because":"suspended by ann"}');
INSERT INTO "jobs" VALUES(10,'job_00000000000000000000000010','default','request-10','backfill','process','default',5,NULL,1767225771000000,NULL,1,'{"digest":"sha256:22ff590aca910728dc2e9fe257b28d50a086443ef8840768b9d15c40f4cd98b9","spec":{"priority":5,"start_deadline_s":20.0,"retry":{},"ttl":{"compute_s":5.0,"logs_s":10.0}},"created_by":"ann"}','suspended',15,2,0,1767225772000000,1767225772000000,NULL,NULL,1,'{"because":"suspended by ann"}');
INSERT INTO "jobs" VALUES(11,'job_00000000000000000000000012','science','request-12','nightly-2','fake','night',0,NULL,1767225776000000,1767225796000000,1,'{"digest":"sha256:113d2a3cabe0b130bcb15fb2b786fde29ced3ca3e4ee622a3b20cdf050968bde","spec":{"engine":"fake","queue":"night","start_at":"2026-01-01T00:03:16Z","retry":{"max_attempts":2},"ttl":{"compute_s":5.0,"logs_s":10.0}},"created_by":"ann","labels":{"tier":"gold","team ü":"☃"}}','cancelled',12,3,0,1767226210000000,1767226210000000,NULL,1767226210000000,1,'{"because":"cancelled by ann: no longer needed"}');
INSERT INTO "jobs" VALUES(12,'job_00000000000000000000000015','default','request-15','n','fake','default',-1,NULL,1767226030500000,NULL,1,'{"digest":"sha256:6c521c11dd110c203fb7e5b0c512a1d89d8a885f3b6a76f9165922da9b87e224","spec":{"engine":"fake","priority":-1,"deadline_s":30.0,"retry":{"max_attempts":2},"ttl":{}},"created_by":"ann","labels":{"team":"blue","team ü":"☃"}}','backing_off',36,5,1,1767226163500000,1767226163500000,1767226168399000,NULL,1,'{"backoff_s":4.899,"because":"node_lost is worth another attempt"}');
INSERT INTO "jobs" VALUES(13,'job_00000000000000000000000016','science','request-16','nightly-2','fake','default',0,NULL,1767226111000000,NULL,1,'{"digest":"sha256:74194a09b133c25528ddf90cbffdacf2a5960b99b3ac771fdb0555bef8e7ace0","spec":{"engine":"fake","deadline_s":30.0,"start_deadline_s":20.0,"retry":{},"ttl":{}},"created_by":"ann"}','succeeded',37,5,1,1767226206500000,1767226206500000,NULL,1767226206500000,1,NULL);
INSERT INTO "jobs" VALUES(14,'job_00000000000000000000000017','science','request-17','nightly-2','process','default',-1,'job_00000000000000000000000016',1767226117000000,NULL,1,'{"digest":"sha256:ed9a261089e11b9d9f1c794eeee710a09619f6f28e7048e4aecbca450ef6a717","spec":{"priority":-1,"deadline_s":30.0,"retry":{"max_attempts":3},"ttl":{"logs_s":10.0}},"created_by":"ann","labels":{"tier":"gold","team ü":"☃"}}','queued',6,1,0,1767226117000000,1767226117000000,NULL,NULL,1,NULL);
INSERT INTO "jobs" VALUES(15,'job_00000000000000000000000018','default','request-18','n','fake','night',0,NULL,1767226160500000,NULL,1,'{"digest":"sha256:29f5fab871455fd2e62551d3c35e2c36dae8c178d237d48bcc1d5a00f39ff267","spec":{"engine":"fake","queue":"night","retry":{"max_attempts":2},"ttl":{"compute_s":5.0}},"created_by":"ann","labels":{"team":"blue","team ü":"☃"}}','cancelled',35,2,0,1767226163500000,1767226163500000,NULL,1767226163500000,1,'{"because":"cancelled by ann: no longer needed"}');
INSERT INTO "jobs" VALUES(16,'job_00000000000000000000000019','default','request-19','nightly-2','fake','default',5,'job_00000000000000000000000018',1767226166500000,NULL,1,'{"digest":"sha256:744ba6913c85c9d7f1cace3ac6a1d4c640218b9ac0c895dec7e65a2ac916aabd","spec":{"engine":"fake","priority":5,"start_deadline_s":20.0,"retry":{},"ttl":{}},"created_by":"ann","labels":{"tier":"gold"}}','queued',9,1,0,1767226166500000,1767226166500000,NULL,NULL,1,NULL);
INSERT INTO "jobs" VALUES(17,'job_00000000000000000000000020','default','request-2','nightly-2','process','default',0,NULL,1767226166500000,NULL,1,'{"digest":"sha256:ce3f4d57fb8a81dff7d4c838142c4c835427d61947057856c5defd437cc272a4","spec":{"start_deadline_s":20.0,"retry":{"max_attempts":2},"ttl":{"compute_s":5.0,"logs_s":10.0}},"created_by":"ann","labels":{"team ü":"☃","tier":"gold"}}','queued',10,1,0,1767226166500000,1767226166500000,NULL,NULL,1,NULL);
INSERT INTO "jobs" VALUES(18,'job_00000000000000000000000021','default','request-21','nightly-2','fake','default',-1,NULL,1767226213500000,1767226233500000,1,'{"digest":"sha256:00ad07a9ba33d1c57f553bf872e73805a821bf30724042a9d431c3cb660abb68","spec":{"engine":"fake","priority":-1,"start_at":"2026-01-01T00:10:33.500000Z","deadline_s":30.0,"retry":{"max_attempts":3},"ttl":{"compute_s":5.0}},"created_by":"ann","labels":{"team ü":"☃"}}','queued',9,1,0,1767226213500000,1767226213500000,1767226233500000,NULL,1,NULL);
CREATE TABLE labels (
    key    TEXT NOT NULL,
    value  TEXT NOT NULL,
    job    INTEGER NOT NULL,
    PRIMARY KEY (key, value, job)
) STRICT, WITHOUT ROWID;
INSERT INTO "labels" VALUES('team','blue',7);
INSERT INTO "labels" VALUES('team','blue',12);
INSERT INTO "labels" VALUES('team','blue',15);
INSERT INTO "labels" VALUES('team ü','☃',2);
INSERT INTO "labels" VALUES('team ü','☃',5);
INSERT INTO "labels" VALUES('team ü','☃',11);
INSERT INTO "labels" VALUES('team ü','☃',12);
INSERT INTO "labels" VALUES('team ü','☃',14);
INSERT INTO "labels" VALUES('team ü','☃',15);
INSERT INTO "labels" VALUES('team ü','☃',17);
INSERT INTO "labels" VALUES('team ü','☃',18);
INSERT INTO "labels" VALUES('tier','gold',5);
INSERT INTO "labels" VALUES('tier','gold',9);
INSERT INTO "labels" VALUES('tier','gold',11);
INSERT INTO "labels" VALUES('tier','gold',14);
INSERT INTO "labels" VALUES('tier','gold',16);
INSERT INTO "labels" VALUES('tier','gold',17);
CREATE TABLE slots (
    id         INTEGER PRIMARY KEY,
    namespace  TEXT NOT NULL,
    engine     TEXT NOT NULL,
    queue      TEXT NOT NULL,
    phase      TEXT NOT NULL CHECK (phase IN ('queued', 'launching', 'running', 'stopping', 'backing_off', 'suspended',
                                              'uncertain', 'succeeded', 'failed', 'cancelled')),
    count      INTEGER NOT NULL CHECK (count >= 0)
) STRICT;
INSERT INTO "slots" VALUES(1,'science','process','night','queued',0);
INSERT INTO "slots" VALUES(2,'science','process','night','cancelled',0);
INSERT INTO "slots" VALUES(3,'default','process','night','queued',0);
INSERT INTO "slots" VALUES(4,'science','process','night','launching',0);
INSERT INTO "slots" VALUES(5,'science','fake','night','queued',0);
INSERT INTO "slots" VALUES(6,'science','process','default','queued',1);
INSERT INTO "slots" VALUES(7,'science','process','night','succeeded',0);
INSERT INTO "slots" VALUES(8,'science','process','night','backing_off',0);
INSERT INTO "slots" VALUES(9,'default','fake','default','queued',2);
INSERT INTO "slots" VALUES(10,'default','process','default','queued',1);
INSERT INTO "slots" VALUES(11,'science','process','default','launching',0);
INSERT INTO "slots" VALUES(12,'science','fake','night','cancelled',1);
INSERT INTO "slots" VALUES(13,'default','process','night','launching',0);
INSERT INTO "slots" VALUES(14,'science','process','default','uncertain',0);
INSERT INTO "slots" VALUES(15,'default','process','default','suspended',1);
INSERT INTO "slots" VALUES(16,'science','process','default','backing_off',0);
INSERT INTO "slots" VALUES(17,'default','fake','default','suspended',0);
INSERT INTO "slots" VALUES(18,'science','process','night','suspended',2);
INSERT INTO "slots" VALUES(19,'default','process','night','backing_off',0);
INSERT INTO "slots" VALUES(20,'science','fake','night','suspended',0);
INSERT INTO "slots" VALUES(21,'default','process','night','cancelled',1);
INSERT INTO "slots" VALUES(22,'science','process','default','suspended',0);
INSERT INTO "slots" VALUES(23,'default','fake','default','launching',0);
INSERT INTO "slots" VALUES(24,'science','fake','night','launching',0);
INSERT INTO "slots" VALUES(25,'default','fake','default','stopping',0);
INSERT INTO "slots" VALUES(26,'science','fake','night','failed',1);
INSERT INTO "slots" VALUES(27,'default','fake','default','failed',0);
INSERT INTO "slots" VALUES(28,'default','fake','default','running',0);
INSERT INTO "slots" VALUES(29,'science','fake','default','queued',0);
INSERT INTO "slots" VALUES(30,'science','fake','default','launching',0);
INSERT INTO "slots" VALUES(31,'science','process','default','stopping',0);
INSERT INTO "slots" VALUES(32,'science','fake','default','running',0);
INSERT INTO "slots" VALUES(33,'science','fake','default','stopping',0);
INSERT INTO "slots" VALUES(34,'default','fake','night','queued',0);
INSERT INTO "slots" VALUES(35,'default','fake','night','cancelled',1);
INSERT INTO "slots" VALUES(36,'default','fake','default','backing_off',1);
INSERT INTO "slots" VALUES(37,'science','fake','default','succeeded',1);
INSERT INTO "slots" VALUES(38,'science','process','default','failed',1);
CREATE UNIQUE INDEX slots_by_name ON slots (namespace, engine, queue, phase);
CREATE UNIQUE INDEX slots_whole ON slots (id, phase, queue, engine, namespace);
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
CREATE TRIGGER attempts_go_with_their_job AFTER DELETE ON jobs
BEGIN
    DELETE FROM attempts WHERE id BETWEEN old.id << 16 AND old.id << 16 | 65535;
END;
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
COMMIT;
