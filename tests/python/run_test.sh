#!/usr/bin/env bash
# Installs kgen, and runs a suite with the package as the build has it.
#   run_test.sh CMAKE BUILD_FOLDER_OF_KGEN WORK_FOLDER PYTHON SUITE
set -euo pipefail
cmake=$1
build=$2
work=$3
python=$4
suite=$5

mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/home" >"$work/install.log"
export KGEN_HOME="$work/home" KGEN_TEST_WORK="$work/graphs" PYTHONDONTWRITEBYTECODE=1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH="$build/runtime/python:$here"
# A dozen stubs in one source, since most of their time goes into headers; the cores share the sources of a graph that has more.
export CMAKE_ARGS="-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
exec "$python" -m unittest --verbose "$suite"
