"""Why a test is skipped, with the command that makes it run."""

NEEDS_RAY = "clusters need Ray: .venv/bin/uv pip install -c constraints/xla.txt -e '.[cluster]' (`make test` does)"
