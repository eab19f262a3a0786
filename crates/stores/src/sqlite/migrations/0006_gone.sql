-- Documents of sessions that were deleted, until somebody has deleted them, too: the process may die in between.
CREATE TABLE attache_gone (
    document TEXT NOT NULL PRIMARY KEY
);
