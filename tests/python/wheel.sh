#!/usr/bin/env bash
# Builds the wheel, installs it into an empty environment, and uses it from another folder, where nothing else of kgen is.
#   wheel.sh PYTHON WORK_FOLDER [WHEEL]     WHEEL: one that is built already
set -euo pipefail
python=$1
work=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)

rm -rf "$work/venv" "$work/elsewhere" "$work/graphs"
mkdir -p "$work/elsewhere"
"$python" -m venv "$work/venv"
wheel=${3:-}
if [ -z "$wheel" ]; then
  rm -f "$work"/kgen-*.whl
  # With the compiler cache; clones in other folders share it.
  CCACHE_BASEDIR=$project CCACHE_NOHASHDIR=1 CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache \
    "$work/venv/bin/pip" --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$work" "$project/runtime/python"
  wheel=$(echo "$work"/kgen-*.whl)
fi
"$work/venv/bin/pip" --disable-pip-version-check install --quiet "$wheel" ml_dtypes

unset KGEN_HOME PYTHONPATH
export KGEN_TEST_WORK="$work/graphs" PYTHONDONTWRITEBYTECODE=1
export CMAKE_ARGS="-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
cp "$here"/graphs.py "$here"/test_model.py "$here"/test_hostile.py "$here"/test_build.py "$work/elsewhere"
cd "$work/elsewhere"
"$work/venv/bin/kgen" --version
"$work/venv/bin/python" -c 'import kgen, sys; assert "torch" not in sys.modules, "kgen imports torch"'
exec "$work/venv/bin/python" -m unittest test_model test_hostile test_build
