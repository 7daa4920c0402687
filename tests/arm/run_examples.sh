#!/usr/bin/env bash
# Compiles examples for an Arm processor, and compares what they compute, emulated, with NumPy, as on this machine.
#   run_examples.sh KGEN PYTHON WORK_FOLDER "COMPILER OPTIONS" "OPTIONS OF QEMU" GRAPH.yaml...
# Variables: KGEN_CXX_LAUNCHER, such as ccache.
set -euo pipefail
kgen=$1 python=$2 work=$3 options=$4 emulator="qemu-aarch64 -L /usr/aarch64-linux-gnu $5"
shift 5
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rm -rf "$work"
mkdir -p "$work"

# compile OBJECT SOURCES...: together, as one source. No word of the compiler is a good one.
compile() {
  local object=$1 unit=${1%.o}.cpp
  shift
  printf '#include "%s"\n' "$@" >"$unit"
  # shellcheck disable=SC2086
  ${KGEN_CXX_LAUNCHER:-} aarch64-linux-gnu-g++ -std=c++20 -O1 -Wall -Wextra -Werror -Wno-missing-field-initializers \
    -Wno-restrict -Wno-maybe-uninitialized -ffp-contract=off -fopenmp $options -I"$root" -I"$root/templates" \
    -I"$root/runtime/include" -I"$root/tests/examples" -I"$work" "${include[@]}" -c "$unit" -o "$object"
}

include=()
compile "$work/runtime.o" "$root"/runtime/src/{.,cpu}/*.cpp
compile "$work/run_graph.o" "$root/tests/examples/run_graph.cpp"
for file in "$@"; do
  graph=$(basename "$file" .yaml)
  "$kgen" plan "$file" --emit "$work/$graph"
  echo "KGEN_GRAPH($graph)" >>"$work/graphs.def"
  include=(-I"$work/$graph")
  compile "$work/$graph.o" "$work/$graph"/{.,stubs}/*.cpp
done
include=()
compile "$work/graph_table.o" "$root/tests/examples/graph_table.cpp"
aarch64-linux-gnu-g++ -fopenmp "$work"/*.o -o "$work/run_graph"
for file in "$@"; do
  graph=$(basename "$file" .yaml)
  OMP_NUM_THREADS=2 "$python" -B "$root/tests/examples/run_example.py" "$graph" --driver "$work/run_graph" \
    --work "$work/run/$graph" --under "$emulator" --smaller-than 300000
done
