-- One row per recurring run; one that is removed stays, so that its past keeps its name. Times are Unix seconds.
CREATE TABLE schedules (
    schedule_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    cron TEXT NOT NULL,
    request TEXT NOT NULL,
    priority INTEGER NOT NULL,
    timeout_s REAL,
    late_after_s REAL NOT NULL,
    who TEXT NOT NULL,
    verified INTEGER NOT NULL,
    created_at REAL NOT NULL,
    removed_at REAL
) STRICT;
CREATE UNIQUE INDEX schedules_name ON schedules (name) WHERE removed_at IS NULL;
-- One row per time at which a run was due and somebody noticed: with its job, or with the reason why there is none.
CREATE TABLE schedule_ticks (
    schedule_id INTEGER NOT NULL,
    due_at REAL NOT NULL,
    job_id INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (schedule_id, due_at)
) STRICT;
