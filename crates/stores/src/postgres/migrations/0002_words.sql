-- Facts that outlive conversations, the newest last.
CREATE TABLE attache_fact (
    fact BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    UNIQUE (principal, id)
);

CREATE INDEX attache_fact_principal ON attache_fact (principal, fact);

-- Their words. A search reads those of its principal alone. They are in the order of their characters, so that those
-- which begin alike stand together.
CREATE TABLE attache_fact_word (
    principal TEXT NOT NULL,
    word TEXT COLLATE "C" NOT NULL,
    fact BIGINT NOT NULL REFERENCES attache_fact (fact) ON DELETE CASCADE,
    PRIMARY KEY (principal, word, fact)
);

CREATE INDEX attache_fact_word_of ON attache_fact_word (fact);

-- The words that were said in sessions, as of the last search.
CREATE TABLE attache_session_word (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    word TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (session, word)
);

-- How many messages and entries are among them.
ALTER TABLE attache_session ADD COLUMN searched BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attache_run ADD COLUMN searched BIGINT NOT NULL DEFAULT 0;
