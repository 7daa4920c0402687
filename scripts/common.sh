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

# What a machine without kgen gets. begin_bundle FOLDER makes the folder anew; one that is no bundle it leaves alone.
begin_bundle() {
  bundle="$1"
  if [ -e "$bundle" ] && [ ! -e "$bundle/bundle.txt" ]; then
    echo "${0##*/}: $bundle exists, and is no bundle" >&2
    exit 1
  fi
  rm -rf "$bundle"
  mkdir -p "$bundle/third_party"
  git -C "$root" describe --always --dirty >"$bundle/bundle.txt"
}

# Files and folders of the project, at the paths that they have here.
bundle_sources() {
  local path
  for path in "$@"; do mkdir -p "$bundle/$(dirname "$path")" && cp -r "$root/$path" "$bundle/$path"; done
}

# Headers of Debian's packages, by the names that they have below /usr/include; of SLEEF the library too.
bundle_headers() {
  local name
  for name in "$@"; do
    if [ "$name" = sleef ]; then
      cp "$(find /usr/include -name sleef.h | head -n 1)" "$bundle/third_party"
      cp -L "$(sed -n 's/^KGEN_SLEEF_LIBRARY:[^=]*=//p' "$build/CMakeCache.txt")" "$bundle/third_party/libsleef.so.3"
    else
      cp -rL "/usr/include/$name" "$bundle/third_party"
    fi
  done
}
