-- One row per view that somebody saved under a name: a page of the dashboard and the parameters of its address.
CREATE TABLE views (
    name TEXT PRIMARY KEY,
    page TEXT NOT NULL,
    query TEXT NOT NULL,
    who TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
