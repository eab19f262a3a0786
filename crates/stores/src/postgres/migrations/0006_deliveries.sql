-- As before; it says too whether the run had deliveries before the append, so that its driver need not ask.
DROP FUNCTION attache_append;

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
) RETURNS TABLE (stands TEXT, stands_at BIGINT, has_deliveries BOOLEAN) LANGUAGE plpgsql AS $$
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
    SELECT EXISTS (SELECT 1 FROM attache_delivered WHERE run = the_row) INTO has_deliveries;
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
    UPDATE attache_run SET entries = the_place, adopted = 0, ended = CASE WHEN does_end THEN the_now ELSE ended END
        WHERE run = the_row;
END;
$$;
