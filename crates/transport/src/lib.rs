//! What attache's providers share on HTTP: client, encoded logs, retries, SSE, errors, redaction.
