"""Parts of tests/performance/pages.py."""
