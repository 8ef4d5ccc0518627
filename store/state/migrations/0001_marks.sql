-- One row per mark: from `marked_at` (UTC) on, the series that it names have a new history. A NULL name takes all.
CREATE TABLE marks (
    mark_id INTEGER PRIMARY KEY AUTOINCREMENT,
    marked_at TEXT NOT NULL,
    run_id TEXT,
    suite TEXT,
    model TEXT,
    test TEXT,
    backend TEXT,
    variant TEXT,
    environment TEXT,
    accelerator TEXT,
    accelerator_model TEXT,
    machine_id TEXT,
    text TEXT NOT NULL,
    who TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
