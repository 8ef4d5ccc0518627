"""What draws the parts of a page: its head, tables, charts, downloads, and sentences; it knows no page."""
