BEGIN TRANSACTION;
CREATE TABLE attache_delivered (
    run INTEGER NOT NULL REFERENCES attache_run (run) ON DELETE CASCADE,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, key)
) STRICT;
CREATE TABLE attache_document (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    PRIMARY KEY (session, document)
) STRICT;
CREATE TABLE attache_entry (
    run INTEGER NOT NULL REFERENCES attache_run (run) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    key TEXT NOT NULL,
    -- When it was recorded.
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, place),
    UNIQUE (run, key)
) STRICT;
INSERT INTO "attache_entry" VALUES(1,0,'start',1795417761466,'{"schemaVersion":1,"key":"start","at":1795417761466,"kind":{"started":{"runId":"f4e0cfc5-dee6-494c-820c-58c35cc395d8","messages":[],"task":0,"limits":{"maxSteps":20,"maxToolCalls":150,"emptyReply":"error","maxResultChars":50000},"options":13156272093229844867}}}');
INSERT INTO "attache_entry" VALUES(1,1,'model/1',1795417761468,'{"schemaVersion":1,"key":"model/1","at":1795417761468,"kind":{"reply":{"message":{"id":"msg_809a3610ac2047189180af09291c156e","role":"assistant","content":[{"type":"text","text":"You said: To Rome."}]},"finishReason":"stop","usage":{"input_tokens":10,"output_tokens":5}}}}');
INSERT INTO "attache_entry" VALUES(1,2,'end',1795417761469,'{"schemaVersion":1,"key":"end","at":1795417761469,"kind":{"ended":{"reason":"answer"}}}');
INSERT INTO "attache_entry" VALUES(2,0,'start',1795417761483,'{"schemaVersion":1,"key":"start","at":1795417761483,"kind":{"started":{"runId":"bb748b62-8722-47e4-a581-d45ef476b689","messages":[],"task":2,"limits":{"maxSteps":20,"maxToolCalls":150,"emptyReply":"error","maxResultChars":50000},"options":13156272093229844867}}}');
INSERT INTO "attache_entry" VALUES(2,1,'model/1',1795417761494,'{"schemaVersion":1,"key":"model/1","at":1795417761494,"kind":{"reply":{"message":{"id":"msg_809a3610ac2047189180af09291c1570","role":"assistant","content":[{"type":"text","text":"You said: In May."}]},"finishReason":"stop","usage":{"input_tokens":10,"output_tokens":5}}}}');
INSERT INTO "attache_entry" VALUES(2,2,'end',1795417761502,'{"schemaVersion":1,"key":"end","at":1795417761502,"kind":{"ended":{"reason":"answer"}}}');
CREATE TABLE attache_fact (
    fact INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (principal, id)
) STRICT;
INSERT INTO "attache_fact" VALUES(1,'ann','00c0ffee00c0ffee','Ann lives in Oslo.',1795417761466);
CREATE TABLE attache_fact_word (
    principal TEXT NOT NULL,
    word TEXT NOT NULL,
    fact INTEGER NOT NULL REFERENCES attache_fact (fact) ON DELETE CASCADE,
    PRIMARY KEY (principal, word, fact)
) STRICT, WITHOUT ROWID;
INSERT INTO "attache_fact_word" VALUES('ann','ann',1);
INSERT INTO "attache_fact_word" VALUES('ann','in',1);
INSERT INTO "attache_fact_word" VALUES('ann','lives',1);
INSERT INTO "attache_fact_word" VALUES('ann','oslo',1);
CREATE TABLE attache_fence (
    number INTEGER NOT NULL
) STRICT;
INSERT INTO "attache_fence" VALUES(2);
CREATE TABLE attache_message (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, place)
) STRICT;
INSERT INTO "attache_message" VALUES('trip',0,'{"id":"msg_809a3610ac2047189180af09291c156d","role":"user","content":[{"type":"text","text":"To Rome."}]}');
INSERT INTO "attache_message" VALUES('trip',1,'{"id":"f4e0cfc5-dee6-494c-820c-58c35cc395d8-7f46660d731700b1.1","role":"assistant","content":[{"type":"text","text":"You said: To Rome."}]}');
INSERT INTO "attache_message" VALUES('trip',2,'{"id":"msg_809a3610ac2047189180af09291c156f","role":"user","content":[{"type":"text","text":"In May."}]}');
CREATE TABLE attache_migration (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "attache_migration" VALUES(1,'sessions','2026-11-23 07:09:21',1,X'7EA95185EC7242A37091A73E4C001BF780D216999FABE50CFF8C9E0BACE1FFF14E8A8FBCE5207D65240208338E69C1FF',7587442);
INSERT INTO "attache_migration" VALUES(2,'words','2026-11-23 10:05:00',1,X'C62DB74054C96F872A93BB150D4CE21DEC80E6ED656B9FDED8E891BF149B69795FAA95B7A5B670AE34754CCF05C52641',1000000);
CREATE TABLE attache_run (
    run INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER,
    -- The messages that it began with: pairs of first and end among those of the session, as JSON.
    ranges TEXT NOT NULL,
    -- How many entries its log has.
    entries INTEGER NOT NULL DEFAULT 0, searched INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session, id)
) STRICT;
INSERT INTO "attache_run" VALUES(1,'trip','f4e0cfc5-dee6-494c-820c-58c35cc395d8',1795417761466,1795417761469,'[[0,1]]',3,3);
INSERT INTO "attache_run" VALUES(2,'trip','bb748b62-8722-47e4-a581-d45ef476b689',1795417761483,1795417761502,'[[0,3]]',3,3);
CREATE TABLE attache_session (
    id TEXT NOT NULL PRIMARY KEY,
    principal TEXT NOT NULL,
    -- The first words of the first question.
    title TEXT NOT NULL DEFAULT '',
    created INTEGER NOT NULL,
    accessed INTEGER NOT NULL,
    -- The session does not expire before then.
    kept_until INTEGER NOT NULL DEFAULT 0,
    -- The lease: its fencing number, its end, a name for whoever took it, and the run for which that was.
    fence INTEGER NOT NULL DEFAULT 0,
    leased_until INTEGER NOT NULL DEFAULT 0,
    holder TEXT NOT NULL DEFAULT '',
    leased_by TEXT NOT NULL DEFAULT '',
    -- The number of the last append under the lease.
    appends INTEGER NOT NULL DEFAULT 0,
    -- How many messages it has.
    messages INTEGER NOT NULL DEFAULT 0
, searched INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "attache_session" VALUES('trip','ann','To Rome.',1795417761463,1795417761502,0,2,0,'908ddf78-37af-447b-b915-205658d85236','bb748b62-8722-47e4-a581-d45ef476b689',3,3,3);
CREATE TABLE attache_session_word (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    word TEXT NOT NULL,
    PRIMARY KEY (session, word)
) STRICT, WITHOUT ROWID;
INSERT INTO "attache_session_word" VALUES('trip','in');
INSERT INTO "attache_session_word" VALUES('trip','may');
INSERT INTO "attache_session_word" VALUES('trip','rome');
INSERT INTO "attache_session_word" VALUES('trip','said');
INSERT INTO "attache_session_word" VALUES('trip','to');
INSERT INTO "attache_session_word" VALUES('trip','you');
CREATE INDEX attache_session_principal ON attache_session (principal, accessed);
CREATE INDEX attache_session_accessed ON attache_session (accessed);
CREATE INDEX attache_document_of ON attache_document (document);
CREATE INDEX attache_fact_principal ON attache_fact (principal, fact);
CREATE INDEX attache_fact_word_of ON attache_fact_word (fact);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('attache_run',2);
INSERT INTO "sqlite_sequence" VALUES('attache_fact',1);
COMMIT;
