# shellcheck shell=bash
# shellcheck disable=SC2034
# Sourced by the scripts beside it.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="${KGEN_BUILD:-$root/build}"
prefix="$build/prefix"
python="$build/venv/bin/python"
torch_python="$build/venv_torch/bin/python"
# Clones in other folders share what is compiled already.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
cmake_options=(
  -G Ninja
  -DCMAKE_BUILD_TYPE="${CMAKE_BUILD_TYPE:-Release}"
  -DCMAKE_C_COMPILER_LAUNCHER=ccache
  -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
)

# Runs a command; shows what it said only where it fails.
quietly() {
  local log="$build/quietly.log"
  "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

# Builds kgen and its runtime, without the tests, and installs them into $prefix.
install_kgen() {
  quietly cmake -S "$root" -B "$build/kgen" "${cmake_options[@]}" -DKGEN_BUILD_TESTS=OFF
  cmake --build "$build/kgen"
  quietly cmake --install "$build/kgen" --prefix "$prefix"
}
