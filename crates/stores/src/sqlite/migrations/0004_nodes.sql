-- Several processes over one database.

-- The name of the sessions in which a run began, by which other processes know its agent.
ALTER TABLE attache_run ADD COLUMN name TEXT NOT NULL DEFAULT '';
-- The reason for which somebody wants it to end.
ALTER TABLE attache_run ADD COLUMN stop TEXT;
-- How often it was taken over since something was recorded.
ALTER TABLE attache_run ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0;

CREATE INDEX attache_run_open ON attache_run (session) WHERE ended IS NULL;
