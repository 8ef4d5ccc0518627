#!/bin/sh
# Make the two environments that prove what xlabench does without torch_xla; only the tests need them.
set -eu
VENV=${VENV:-.venv}

environment() { # folder, constraints, extras, what it is
    [ -f "$1/.ready" ] && [ "$1/.ready" -nt pyproject.toml ] && [ "$1/.ready" -nt "$2" ] && return
    echo "setup: making $1 for the tests ($4)."
    [ -x "$1/bin/python" ] || "${PYTHON:-python3.11}" -m venv "$1"
    # Few tests use these two: compiling all of torch for them would take longer than what they import.
    "$VENV/bin/uv" pip install --quiet --python "$1/bin/python" --constraint "$2" --editable "$3"
    touch "$1/.ready"
}

environment .venv-plain constraints/latest.txt '.[dashboard]' 'without torch, about 1 GB on disk'
environment .venv-latest constraints/latest.txt '.[runner,dashboard]' 'newest torch without torch_xla, about 6 GB on disk'
