-- Characters of Chinese, Japanese and Korean are found alone and in pairs: each of them begins a word. The last one of a
-- text did not, and Korean had its words whole.
WITH RECURSIVE place (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM place WHERE at < 60)
INSERT INTO attache_fact_word (principal, word, fact)
SELECT DISTINCT w.principal, substr(w.word, p.at, 2), w.fact
FROM attache_fact_word w JOIN place p ON p.at <= length(w.word)
WHERE substr(w.word, p.at, 1) BETWEEN '⺀' AND '鿿' OR substr(w.word, p.at, 1) BETWEEN '가' AND '힣'
    OR substr(w.word, p.at, 1) BETWEEN '豈' AND '﫿'
ON CONFLICT DO NOTHING;

-- The words of sessions are noted anew when somebody searches.
UPDATE attache_session SET searched = 0;
UPDATE attache_run SET searched = 0;
