#!/bin/sh
# Install what only the tests need: chromium, Ray, and the two environments that prove what xlabench does without torch_xla.
set -eu
VENV=${VENV:-.venv}

if ! command -v chromium > /dev/null && ! command -v chromium-browser > /dev/null; then
    if command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
        echo "setup: installing chromium for the browser tests."
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null
    else
        echo "setup: chromium is not installed; the browser tests will be skipped. Install it with your package manager."
    fi
fi

if ! "$VENV/bin/python" -c 'import fsspec, ray' 2> /dev/null; then
    echo "setup: adding Ray to $VENV for the tests of clusters (about 100 MB to download, 260 MB on disk)."
    "$VENV/bin/uv" pip install --quiet --compile-bytecode --python "$VENV/bin/python" \
        --constraint constraints/xla.txt --editable '.[cluster]'
fi

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
