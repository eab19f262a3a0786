-- Facts that outlive conversations, the newest last.
CREATE TABLE attache_fact (
    fact INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (principal, id)
) STRICT;

CREATE INDEX attache_fact_principal ON attache_fact (principal, fact);

-- Their words. A search reads those of its principal alone.
CREATE TABLE attache_fact_word (
    principal TEXT NOT NULL,
    word TEXT NOT NULL,
    fact INTEGER NOT NULL REFERENCES attache_fact (fact) ON DELETE CASCADE,
    PRIMARY KEY (principal, word, fact)
) STRICT, WITHOUT ROWID;

CREATE INDEX attache_fact_word_of ON attache_fact_word (fact);

-- The words that were said in sessions, as of the last search.
CREATE TABLE attache_session_word (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    word TEXT NOT NULL,
    PRIMARY KEY (session, word)
) STRICT, WITHOUT ROWID;

-- How many messages and entries are among them.
ALTER TABLE attache_session ADD COLUMN searched INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attache_run ADD COLUMN searched INTEGER NOT NULL DEFAULT 0;
