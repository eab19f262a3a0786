-- Sessions, their messages, and the logs of their runs. Times are milliseconds since 1970.

CREATE TABLE attache_session (
    id TEXT NOT NULL PRIMARY KEY,
    principal TEXT NOT NULL,
    -- The first words of the first question.
    title TEXT NOT NULL DEFAULT '',
    created BIGINT NOT NULL,
    accessed BIGINT NOT NULL,
    -- The session does not expire before then.
    kept_until BIGINT NOT NULL DEFAULT 0,
    -- The lease: its fencing number, its end, a name for whoever took it, and the run for which that was.
    fence BIGINT NOT NULL DEFAULT 0,
    leased_until BIGINT NOT NULL DEFAULT 0,
    holder TEXT NOT NULL DEFAULT '',
    leased_by TEXT NOT NULL DEFAULT '',
    -- The number of the last append under the lease.
    appends BIGINT NOT NULL DEFAULT 0,
    -- How many messages it has.
    messages BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX attache_session_principal ON attache_session (principal, accessed);
CREATE INDEX attache_session_accessed ON attache_session (accessed);

-- The last fencing number of all sessions, so that one that is made anew does not begin again.
CREATE SEQUENCE attache_fence;

-- Each message of a session once, as JSON, in the order in which they came.
CREATE TABLE attache_message (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    place BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, place)
);

CREATE TABLE attache_run (
    run BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    began BIGINT NOT NULL,
    ended BIGINT,
    -- The messages that it began with: pairs of first and end among those of the session, as JSON.
    ranges TEXT NOT NULL,
    -- How many entries its log has.
    entries BIGINT NOT NULL DEFAULT 0,
    UNIQUE (session, id)
);

-- The logs of runs, as JSON.
CREATE TABLE attache_entry (
    run BIGINT NOT NULL REFERENCES attache_run (run) ON DELETE CASCADE,
    place BIGINT NOT NULL,
    key TEXT NOT NULL,
    -- When it was recorded.
    at BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, place),
    UNIQUE (run, key)
);

-- Entries that somebody delivered and no driver has taken yet.
CREATE TABLE attache_delivered (
    run BIGINT NOT NULL REFERENCES attache_run (run) ON DELETE CASCADE,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, key)
);

-- The documents that sessions refer to.
CREATE TABLE attache_document (
    session TEXT NOT NULL REFERENCES attache_session (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    PRIMARY KEY (session, document)
);

CREATE INDEX attache_document_of ON attache_document (document);

-- Appends entries to the log of a run in one round trip: where the log has one under the same key that one stands, and
-- where one was delivered, that. No row means that another writer has the lease.
CREATE FUNCTION attache_append(
    the_session TEXT,
    the_run TEXT,
    the_fence BIGINT,
    the_number BIGINT,
    the_now BIGINT,
    the_until BIGINT,
    the_kept BIGINT,
    does_end BOOLEAN,
    the_documents TEXT[],
    the_keys TEXT[],
    the_bodies TEXT[]
) RETURNS TABLE (stands TEXT, stands_at BIGINT) LANGUAGE plpgsql AS $$
DECLARE
    the_row BIGINT;
    the_place BIGINT;
BEGIN
    UPDATE attache_session SET appends = the_number, accessed = the_now, leased_until = the_until,
        kept_until = coalesce(the_kept, kept_until)
        WHERE id = the_session AND fence = the_fence AND appends < the_number;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO attache_document (session, document)
        SELECT the_session, given FROM unnest(the_documents) AS given ON CONFLICT DO NOTHING;
    -- The row of the run keeps deliveries out.
    SELECT run, entries INTO the_row, the_place FROM attache_run
        WHERE session = the_session AND id = the_run FOR UPDATE;
    FOR number IN 1 .. coalesce(array_length(the_keys, 1), 0) LOOP
        SELECT body, at INTO stands, stands_at FROM attache_entry WHERE run = the_row AND key = the_keys[number];
        IF NOT FOUND THEN
            DELETE FROM attache_delivered WHERE run = the_row AND key = the_keys[number] RETURNING body INTO stands;
            IF NOT FOUND THEN
                stands := the_bodies[number];
            END IF;
            stands_at := the_now;
            INSERT INTO attache_entry (run, place, key, at, body)
                VALUES (the_row, the_place, the_keys[number], the_now, stands);
            the_place := the_place + 1;
        END IF;
        RETURN NEXT;
    END LOOP;
    UPDATE attache_run SET entries = the_place, ended = CASE WHEN does_end THEN the_now ELSE ended END
        WHERE run = the_row;
END;
$$;
