-- A random name of this database, by which a folder of documents knows whose it is.
CREATE TABLE attache_store (
    id TEXT NOT NULL
) STRICT;

INSERT INTO attache_store (id) VALUES (lower(hex(randomblob(16))));
