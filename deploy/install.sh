#!/bin/sh
# Builds the wheel of this tree and installs it with its extras into a new virtual environment. In the
# root of the tree:
#   sh deploy/install.sh DIRECTORY [EXTRAS]
# Versions are those of constraints.txt. pip is removed again, since nothing needs it afterwards.
set -eu
umask 022

directory=$1
extras=${2:-}
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
export PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt

pip() {
    "$directory/bin/python" -m pip "$@"
}

python3 -m venv "$directory"
pip wheel --quiet --no-deps --wheel-dir "$wheels" .
wheel=$(echo "$wheels"/dovemq-*.whl)
pip install --quiet "$wheel${extras:+[$extras]}"
pip uninstall --quiet --yes pip
"$directory/bin/dovemq" --version
