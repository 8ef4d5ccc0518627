#!/bin/sh
# Install what only the tests need: chromium and Ray. The environments that they also need are those of setup_environments.sh.
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
