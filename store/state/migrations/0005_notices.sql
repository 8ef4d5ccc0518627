-- One row per event that people are told of; `key` names it for ever, so that no event is told twice. `subject` is what it
-- is about (a series, a recurring run): its newest row says how that stands. Never changed. Times are Unix seconds.
CREATE TABLE notices (
    notice_id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    page TEXT NOT NULL,
    run_id TEXT,
    base_run_id TEXT,
    happened_at REAL NOT NULL,
    noticed_at REAL NOT NULL
) STRICT;
CREATE INDEX notices_subject ON notices (subject);
-- One row per event and channel that it goes to. `sending` is written before anything is sent: whoever finds it later, of a
-- process that died, cannot know whether it arrived, makes it `unknown`, and sends it no more.
CREATE TABLE notice_deliveries (
    notice_id INTEGER NOT NULL,
    channel TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'unknown')),
    tries INTEGER NOT NULL DEFAULT 0,
    next_at REAL NOT NULL,
    detail TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (notice_id, channel)
) STRICT;
CREATE INDEX notice_deliveries_state ON notice_deliveries (state);
-- One row per run in which events were looked for, with what the store had of it then.
CREATE TABLE notice_looks (
    run_id TEXT PRIMARY KEY,
    state TEXT NOT NULL
) STRICT;
