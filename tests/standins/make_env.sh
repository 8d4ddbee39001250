#!/bin/sh
# SPDX-License-Identifier: MIT
# make_env.sh FOLDER: a Python environment that holds the stand-in nki and, beside its Python, the stand-in compiler.
set -e
here=$(cd "$(dirname "$0")" && pwd)
/usr/bin/python3 -m venv --without-pip --system-site-packages "$1"
echo "$here/python" > "$("$1/bin/python3" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/standin.pth"
ln -s "$here/env/neuronx-cc" "$1/bin/neuronx-cc"
