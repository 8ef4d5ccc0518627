-- One row per request to measure. `request` is JSON that runner/jobs/request.py reads; everybody who can write here can
-- write anything, so the worker checks it again before it starts something. Times are Unix seconds.
CREATE TABLE jobs (
    job_id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    request TEXT NOT NULL,
    label TEXT NOT NULL,
    why TEXT NOT NULL,
    who TEXT NOT NULL,
    verified INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    timeout_s REAL NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'starting', 'running', 'done', 'failed', 'cancelled', 'lost')),
    attempts INTEGER NOT NULL DEFAULT 0,
    tries_left INTEGER NOT NULL,
    retry_failed INTEGER NOT NULL DEFAULT 0,
    executor TEXT,
    host TEXT,
    pid INTEGER,
    pid_started_at REAL,
    cancel_wanted_at REAL,
    run_id TEXT,
    folder TEXT,
    exit_code INTEGER,
    message TEXT NOT NULL DEFAULT '',
    spent_s REAL NOT NULL DEFAULT 0,
    submitted_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL
) STRICT;
CREATE INDEX jobs_state ON jobs (state);
CREATE INDEX jobs_who ON jobs (who, submitted_at);
-- One row per thing that somebody, or the worker, did with a job, and per thing that was refused (then often without a
-- job). Never changed.
CREATE TABLE job_actions (
    action_id INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id INTEGER,
    action TEXT NOT NULL,
    who TEXT NOT NULL,
    verified INTEGER NOT NULL,
    acted_at REAL NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX job_actions_job ON job_actions (job_id);
