#!/bin/sh
# Make the environment of xlabench: check the toolchain first, say the size, then install pinned packages.
set -eu
began=$(date +%s)
PYTHON=${PYTHON:-python3.11}
VENV=${VENV:-.venv}

fail() {
    echo "setup: $1" >&2
    exit 2
}

command -v "$PYTHON" > /dev/null || fail "$PYTHON is not installed; install Python 3.11 with venv and headers (or set PYTHON=...)."
"$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || fail "$PYTHON is not 3.11, 3.12 or 3.13; name one of these by PYTHON=..."
"$PYTHON" -c 'import venv, ensurepip' 2> /dev/null || fail "$PYTHON has no venv module; install python3.11-venv."
command -v "${CXX:-g++}" > /dev/null || fail "no C++ compiler; inductor needs one on the CPU: install g++ (or set CXX)."
header=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h
[ -f "$header" ] || fail "Python.h is missing ($header); inductor needs it: install python3.11-dev."

free_gb=$(df -Pk . | awk 'NR==2 {print int($4 / 1048576)}')
echo "setup: about 4 GB to download and 8 GB on disk in $VENV ($free_gb GB are free here)."
[ "$free_gb" -ge 9 ] || fail "not enough free disk: 9 GB are needed."

[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
"$VENV/bin/python" -m pip install --quiet --constraint constraints/xla.txt uv
# Minutes without a line look like a hang: a terminal gets uv's progress bars, a log only the sentences of this script.
quiet=--quiet
[ ! -t 2 ] || quiet=
# shellcheck disable=SC2086 - an empty word would be a package
"$VENV/bin/uv" pip install $quiet --compile-bytecode --python "$VENV/bin/python" --constraint constraints/xla.txt \
    --editable '.[dashboard,auth,plots,runner,torchbench,xla,dev]' ||
    "$VENV/bin/python" -m pip install --quiet --constraint constraints/xla.txt --editable '.[dashboard,auth,plots,runner,torchbench,xla,dev]'
echo "setup: done in $(($(date +%s) - began)) s. Type '. $VENV/bin/activate' to use xlabench; 'xlabench doctor' checks this machine."
