#!/usr/bin/env bash
# Builds the source distribution, the wheel of what is in it, installs that into an empty environment, and uses it from another
# folder, where nothing else of kgen is.
#   wheel.sh PYTHON WORK_FOLDER [WHEEL]     WHEEL: one that is built already
set -euo pipefail
python=$1
work=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)

rm -rf "$work/venv" "$work/elsewhere" "$work/graphs" "$work/source"
mkdir -p "$work/elsewhere"
"$python" -m venv "$work/venv"
wheel=${3:-}
if [ -z "$wheel" ]; then
  rm -f "$work"/kgen-*.whl "$work"/kgen-*.tar.gz
  "$work/venv/bin/pip" --disable-pip-version-check install --quiet build
  "$work/venv/bin/python" -m build --sdist --outdir "$work" "$project/runtime/python" >"$work/sdist.log"
  mkdir "$work/source"
  tar -C "$work/source" -xf "$work"/kgen-*.tar.gz
  source=$(echo "$work"/source/kgen-*)
  # With the compiler cache, which knows files by where they lie in the project: what is unpacked elsewhere is the same.
  CCACHE_BASEDIR=$source CCACHE_NOHASHDIR=1 CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache \
    "$work/venv/bin/pip" --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$work" "$source"
  wheel=$(echo "$work"/kgen-*.whl)
fi
"$work/venv/bin/pip" --disable-pip-version-check install --quiet "$wheel" ml_dtypes

unset KGEN_HOME PYTHONPATH
export KGEN_TEST_WORK="$work/graphs" PYTHONDONTWRITEBYTECODE=1
export CMAKE_ARGS="-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
cp "$here"/graphs.py "$here"/test_model.py "$here"/test_hostile.py "$here"/test_build.py "$work/elsewhere"
cd "$work/elsewhere"
"$work/venv/bin/kgen" --version
"$work/venv/bin/python" -c 'import kgen, sys; assert "torch" not in sys.modules, "kgen imports torch"'
exec "$work/venv/bin/python" -m unittest test_model test_hostile test_build
