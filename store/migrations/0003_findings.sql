-- One row per reason to doubt a record's numbers; `code` is a key of the table in store/advice.py.
CREATE TABLE record_findings (
    record_id VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    next_step VARCHAR
);
