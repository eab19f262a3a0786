-- Sessions were found by the words of replies that a hook had blocked or made again. Their words are noted anew when
-- somebody searches.
DELETE FROM attache_session_word;
UPDATE attache_session SET searched = -1;
UPDATE attache_run SET searched = 0;
