-- Sessions, their messages, and the logs of their runs. Times are milliseconds since 1970.

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
) STRICT;

CREATE INDEX attache_session_principal ON attache_session (principal, accessed);
CREATE INDEX attache_session_accessed ON attache_session (accessed);

-- The last fencing number of all sessions, so that one that is made anew does not begin again.
CREATE TABLE attache_fence (
    number INTEGER NOT NULL
) STRICT;

INSERT INTO attache_fence (number) VALUES (0);

-- Each message of a session once, as JSON, in the order in which they came.
CREATE TABLE attache_message (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, place)
) STRICT;

CREATE TABLE attache_run (
    run INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER,
    -- The messages that it began with: pairs of first and end among those of the session, as JSON.
    ranges TEXT NOT NULL,
    -- How many entries its log has.
    entries INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session, id)
) STRICT;

-- The logs of runs, as JSON.
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

-- Entries that somebody delivered and no driver has taken yet.
CREATE TABLE attache_delivered (
    run INTEGER NOT NULL REFERENCES attache_run (run) ON DELETE CASCADE,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, key)
) STRICT;

-- The documents that sessions refer to.
CREATE TABLE attache_document (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    PRIMARY KEY (session, document)
) STRICT;

CREATE INDEX attache_document_of ON attache_document (document);
