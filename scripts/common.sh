# shellcheck shell=bash
# shellcheck disable=SC2034
# Sourced by the scripts beside it.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="${KGEN_BUILD:-$root/build}"
python="$build/venv/bin/python"
# Clones in other folders share what is compiled already.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
cmake_options=(
  -G Ninja
  -DCMAKE_BUILD_TYPE="${CMAKE_BUILD_TYPE:-Release}"
  -DCMAKE_C_COMPILER_LAUNCHER=ccache
  -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
)
