"""The store: record contract, statistics, ingest, views, comparisons and reports; its rooms from bottom to top.

- The contract, which the runner imports too: `record` (schema), `identity`, `run_file`, `writer`, `files`, `errors`,
  `advice` (words of findings), `verification`, `operators`, `patterns`, `harness_csv`; and `stats` (pure functions).
- The index: `database` (owner, snapshots, migrations, derived tables), `query` (reads a snapshot), `ingest`, and their
  SQL: `load`, `migrations`, `refresh`, `views`, `queries`. `retention`, `remote` and `changepoints` maintain it.
- Files of other tools: `importers`, `exporters`. What people typed: `state`. What a command line names: `choose`,
  `answer`. Faults and drafts about them: `repro`. Words and units of every number: `metrics`.
- What is judged: `compare`. What is said: `report`, `paired`, `weekly`, `review`, `notices`.
"""
