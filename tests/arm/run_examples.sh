#!/usr/bin/env bash
# Compiles examples for an Arm processor, or for several, and compares what they compute, emulated, with NumPy, as the
# examples' tests do on this machine.
#   run_examples.sh CMAKE KGEN PYTHON WORK_FOLDER ARCHITECTURE OPTIONS GRAPH.yaml...
# ARCHITECTURE: what -march= takes, an option behind a comma, or portable: then each of the variants runs. OPTIONS: of the
# emulated processor, as qemu's -cpu takes them.
set -euo pipefail
cmake=$1 kgen=$2 python=$3 work=$4 architecture=$5 processor=$6
shift 6
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$source/../.." && pwd)
rm -rf "$work"
mkdir -p "$work"

graphs=()
for file in "$@"; do
  graphs+=("$(basename "$file" .yaml)")
  own=()
  if [[ $file == */custom/* ]]; then own=(--specs "${file%/*}/my_ops.yaml" --kernels "${file%/*}/my_kernels"); fi
  "$kgen" plan "$file" "${own[@]}" --emit "$work/emitted/${graphs[-1]}" >>"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
done
"$cmake" -S "$source/project" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DKGEN_ROOT="$root" \
  -DEMITTED="$work/emitted" -DGRAPHS="$(IFS=";"; echo "${graphs[*]}")" -DKGEN_CPU_ARCH="${architecture/,/;}" >>"$work/log"
"$cmake" --build "$work/build" --parallel 2 >>"$work/log" || { cat "$work/log"; exit 1; }

run() {
  local graph
  for graph in "${graphs[@]}"; do
    echo "$graph${KGEN_CPU_ARCH:+ for $KGEN_CPU_ARCH}, emulated:"
    OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=1 "$python" -B "$root/tests/examples/run_example.py" "$graph" \
      --driver "$work/build/run_graph" --work "$work/run/$graph" --smaller-than 300000 \
      --under "qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu $processor" 2>&1 | tee "$work/said"
    if grep -q "which is none of" "$work/said"; then exit 1; fi
  done
}

if [ "$architecture" = portable ]; then
  grep -q '^KGEN_PORTABLE_ARCHS:.*=.' "$work/build/CMakeCache.txt" || { echo "no variants were built"; exit 1; }
  sed -n 's/^KGEN_PORTABLE_ARCHS:.*=//p' "$work/build/CMakeCache.txt" | tr ';' '\n' | while read -r KGEN_CPU_ARCH; do
    export KGEN_CPU_ARCH
    run </dev/null
  done
else
  run
fi
