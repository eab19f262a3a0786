-- A random name of this database, by which a folder of documents knows whose it is.
CREATE TABLE attache_store (
    id TEXT NOT NULL
);

INSERT INTO attache_store (id) VALUES (replace(CAST(gen_random_uuid() AS TEXT), '-', ''));
