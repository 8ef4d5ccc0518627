"""The store: record contract, statistics, ingest, views, comparisons and reports; its rooms from bottom to top.

- The contract, which the runner imports too: `record` (schema), `identity`, `run_file`, `writer`, `files`, `errors`,
  `advice` (words of findings), `verification`, `operators`, `patterns`, `harness_csv`; and `stats` (pure functions).
- The index: `database` (owner, snapshots, migrations, derived tables), `query` (reads a snapshot), `ingest`, and their
  SQL: `load`, `migrations`, `refresh`, `views`, `queries`. `retention`, `remote` and `changepoints` maintain it.
- Files of other tools: `importers`, `exporters`. Entries of people: `state`. Names and queries of a command line:
  `choose`, `answer`. Faults and drafts of issues: `repro`. Labels and units of every metric: `metrics`.
- Verdicts: `compare`. Reports: `report`, `paired`, `weekly`, `review`, `notices`.
"""
