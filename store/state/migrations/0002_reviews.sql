-- One row per thing that a person said of a finding of a comparison; never changed, so that the history is whole. The
-- newest value of each column counts; NULL leaves what was there.
CREATE TABLE reviews (
    entry_id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    series TEXT NOT NULL,
    finding TEXT NOT NULL,
    what TEXT NOT NULL,
    state TEXT,
    reference TEXT,
    assignee TEXT,
    note TEXT,
    who TEXT NOT NULL,
    verified INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX reviews_run ON reviews (run_id);
