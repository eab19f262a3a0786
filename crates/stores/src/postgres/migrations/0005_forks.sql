-- Where a session was made of another one: that one, while it is there, and how many messages of the user both have.

ALTER TABLE attache_session ADD COLUMN forked_from TEXT REFERENCES attache_session (id) ON DELETE SET NULL;
ALTER TABLE attache_session ADD COLUMN forked_at BIGINT NOT NULL DEFAULT 0;

CREATE INDEX attache_session_forked ON attache_session (forked_from) WHERE forked_from IS NOT NULL;
