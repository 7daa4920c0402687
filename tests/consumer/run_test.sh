#!/usr/bin/env bash
# Installs kgen, builds a project against it, and checks what makes the build plan again, and what does not.
#   run_test.sh CMAKE BUILD_FOLDER_OF_KGEN WORK_FOLDER
set -euo pipefail
cmake=$1
kgen_build=$2
work=$3
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$work/prefix
project=$work/project
log=$work/build.log

fail() {
  echo "FAILED: $*" >&2
  [ ! -f "$log" ] || { echo "--- the last build:" >&2; tail -n 40 "$log" >&2; }
  exit 1
}

# build FOLDER: the whole output is in $log.
build() { "$cmake" --build "$1" --parallel 2 --verbose >"$log" 2>&1; }

planned() { grep -q 'plan .*gated_bias.yaml' "$log"; }
compiled() { grep -q -E -- ' -c .*'"$1" "$log"; }

# expect_build WHAT PLANS COMPILES: after WHAT, does the build plan (yes or no), and does it compile emitted sources?
expect_build() {
  build "$project/build" || fail "$1: the build fails"
  if planned; then found=yes; else found=no; fi
  [ "$found" = "$2" ] || fail "$1: planned: $found, expected $2"
  if compiled 'gated_bias\.emitted/'; then found=yes; else found=no; fi
  [ "$found" = "$3" ] || fail "$1: compiled emitted sources: $found, expected $3"
  echo "ok: $1: planned: $2, compiled: $3"
}

expect_output() {
  found=$("$project/build/consumer")
  [ "$found" = "$1 " ] || fail "the program prints '$found', expected '$1'"
}

expect_nothing_to_do() {
  build "$project/build" || fail "$1: the build fails"
  grep -q 'ninja: no work to do' "$log" || fail "$1: the build has something to do"
  echo "ok: $1: nothing to do"
}

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$kgen_build" --prefix "$prefix" >"$log" || fail "installing"
cp -r "$source/project" "$project"
"$cmake" -S "$project" -B "$project/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 || fail "configuring"
expect_build "the first build" yes yes
expect_output "0 0 0 0 0 0 0 0 1 3 5 7 9 11 13 15"
expect_nothing_to_do "again"

graph=$project/gated_bias.yaml
echo "notes" >"$project/notes.txt"
echo "- {op: unrelated}" >"$project/other.yaml"
expect_nothing_to_do "an unrelated file"

touch "$graph"
expect_build "the graph has a new time" yes no
expect_nothing_to_do "again"

sed -i 's/0\.5/0.25/' "$graph"
expect_build "the graph has another constant" yes yes
expect_output "0 0 0 0 0 0 0 0 1 2 3 4 5 6 7 8"
expect_nothing_to_do "again"

# The list of stubs changes: a directive splits the chain.
echo "fusion: {forbid: [[scaled, biased]]}" >>"$graph"
before=$(wc -l <"$project/build/gated_bias.emitted/sources.cmake")
expect_build "the graph has another stub" yes yes
[ "$(wc -l <"$project/build/gated_bias.emitted/sources.cmake")" -gt "$before" ] || fail "no stub was added"
expect_output "0 0 0 0 0 0 0 0 1 2 3 4 5 6 7 8"
expect_nothing_to_do "again"
sed -i '$d' "$graph"
expect_build "the graph has a stub less" yes yes
expect_output "0 0 0 0 0 0 0 0 1 2 3 4 5 6 7 8"

sed -i 's/op: relu/op: rleu/' "$graph"
if build "$project/build"; then fail "a graph with an error builds"; fi
grep -q "unknown operator 'rleu'" "$log" || fail "the diagnostic is not shown"
echo "ok: a graph with an error fails, and says why"
sed -i 's/op: rleu/op: relu/' "$graph"
expect_build "the graph is right again" yes no

echo "# a comment" >>"$(grep -l 'op: relu' "$prefix"/share/kgen/specs/ops/*.yaml | head -n 1)"
expect_build "a spec changed" yes no
echo "# a comment" >>"$prefix/share/kgen/templates/kgen/signatures.yaml"
expect_build "a kernel's signature changed" yes no
touch "$prefix/bin/kgen"
expect_build "kgen changed" yes no
echo "// a comment" >>"$prefix/include/kgen/view.hpp"
expect_build "a template changed" yes yes
expect_nothing_to_do "again"

# Make has no list of inputs to bring up to date first: CMake plans while it configures.
make_build=$project/build_make
"$cmake" -S "$project" -B "$make_build" -G "Unix Makefiles" -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 ||
  fail "make: configuring"
build "$make_build" || fail "make: the first build"
build "$make_build" || fail "make: again"
if compiled gated_bias; then fail "make: the second build compiles"; fi
sed -i 's/0\.25/0.5/' "$graph"
build "$make_build" || fail "make: the graph changed"
compiled 'gated_bias\.emitted/stubs/' || fail "make: a changed graph is not compiled"
[ "$("$make_build/consumer")" = "0 0 0 0 0 0 0 0 1 3 5 7 9 11 13 15 " ] || fail "make: the program is not rebuilt"
echo "ok: make: builds, builds again without compiling, and follows the graph"

# Check mode follows an edit of a stub, and names the operator.
cat >>"$project/CMakeLists.txt" <<'END'
kgen_add_graph(checked_bias GRAPH gated_bias.yaml CHECK)
add_executable(checked main.cpp)
target_link_libraries(checked PRIVATE checked_bias)
END
for folder in "$project/build" "$make_build"; do
  build "$folder" || fail "check mode: the first build"
  "$folder/checked" --check >"$work/check.log" 2>&1 || fail "check mode: $(cat "$work/check.log")"
  stub=$folder/checked_bias.emitted/stubs/stub_y.cpp
  sed -i 's/kgen::Add/kgen::Sub/' "$stub"
  build "$folder" || fail "check mode: an edited stub"
  if planned; then fail "check mode: an edited stub makes the build plan"; fi
  if "$folder/checked" --check >"$work/check.log" 2>&1; then fail "check mode does not find a wrong operator"; fi
  grep -q "operator 'add' (gated_bias.yaml:8)" "$work/check.log" || fail "check mode says: $(cat "$work/check.log")"
  build "$folder" || fail "check mode: again"
  if compiled 'bias' || grep -q 'observing' "$log"; then fail "check mode: the build after an edit does not settle"; fi
  sed -i 's/kgen::Sub/kgen::Add/' "$stub"
  build "$folder" || fail "check mode: the stub is right again"
  "$folder/checked" --check >"$work/check.log" 2>&1 || fail "check mode: $(cat "$work/check.log")"
done
expect_nothing_to_do "check mode: again"
echo "ok: check mode follows an edit of a stub, and names the operator"

# Compiled for several processors: each variant is one object file, whose only global name is its own of the graph, and
# older processors' has none of newer ones' registers.
if [ "$(uname -m)" = x86_64 ]; then
  portable=$work/portable
  mkdir "$portable"
  cp "$source/project"/{main.cpp,gated_bias.yaml} "$portable"
  sed 's/TARGET cpu/TARGET cpu SHARED CHECK PORTABLE/' "$source/project/CMakeLists.txt" >"$portable/CMakeLists.txt"
  "$cmake" -S "$portable" -B "$portable/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    "-DKGEN_PORTABLE_ARCHS=x86-64-v2;x86-64-v3+avxvnni" >"$log" 2>&1 || fail "PORTABLE: configuring"
  build "$portable/build" || fail "PORTABLE: building"
  for variant in x86_64_v2 x86_64_v3_avxvnni; do
    object=$portable/build/gated_bias.$variant.o
    objdump -d "$object" >"$work/$variant.txt"
    names=$(nm --defined-only --extern-only --format=posix "$object" | cut -d' ' -f1)
    [ "$names" = "kgen_graph_gated_bias_$variant" ] || fail "PORTABLE: $variant has the global names $names"
  done
  grep -q '%ymm' "$work/x86_64_v3_avxvnni.txt" || fail "PORTABLE: x86-64-v3 has no AVX"
  if grep -q '%ymm' "$work/x86_64_v2.txt"; then fail "PORTABLE: x86-64-v2 has AVX"; fi
  for architecture in x86-64-v2 x86-64-v3+avxvnni; do
    found=$(KGEN_CPU_ARCH=$architecture "$portable/build/consumer" --check 2>"$work/portable.log")
    [ "$found" = "0 0 0 0 0 0 0 0 1 3 5 7 9 11 13 15 " ] || fail "PORTABLE: $architecture prints '$found'"
  done
  KGEN_CPU_ARCH=x86-64-v9 "$portable/build/consumer" >"$log" 2>&1 || fail "PORTABLE: an unknown processor"
  grep -q "KGEN_CPU_ARCH is 'x86-64-v9', which is none of .*: x86-64-v2" "$log" || fail "PORTABLE: no word of it"
  build "$portable/build" || fail "PORTABLE: again"
  grep -q 'ninja: no work to do' "$log" || fail "PORTABLE: the build has something to do again"
  if "$cmake" -S "$portable" -B "$portable/build" -DKGEN_PORTABLE_ARCHS=znver5 >"$log" 2>&1; then
    fail "PORTABLE: takes a processor that no program can ask for"
  fi
  grep -q "KGEN_PORTABLE_ARCHS has 'znver5'" "$log" || fail "PORTABLE: does not name the processor"
  echo "ok: PORTABLE: variants for several processors in one library, chosen as the program runs"
fi

# The emitted folder on its own.
"$prefix/bin/kgen" plan "$graph" --emit "$work/src" >"$log" 2>&1 || fail "kgen plan"
"$cmake" -S "$work/src" -B "$work/src_build" -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 ||
  fail "configuring the emitted folder"
build "$work/src_build" || fail "building the emitted folder"
[ -f "$work/src_build/libgated_bias.a" ] || fail "the emitted folder makes no library"
"$prefix/bin/kgen" plan "$graph" --emit "$work/src" --check >"$log" 2>&1 || fail "kgen plan --check"
build "$work/src_build" || fail "building the emitted folder with check mode"
compiled 'gated_bias\.observed/' || fail "the emitted folder does not observe its stubs"
echo "ok: the emitted folder builds on its own"

# A program that tunes.
cat >"$work/product.yaml" <<'END'
graph: product
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", b: "f32[32, 32]"}
nodes: [{op: matmul, in: [a, b], out: c}]
outputs: [c]
END
"$prefix/bin/kgen" tune "$work/product.yaml" --emit "$work/tuning" >"$log" 2>&1 || fail "kgen tune"
"$cmake" -S "$work/tuning" -B "$work/tuning/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  >"$log" 2>&1 || fail "tune: configuring"
build "$work/tuning/build" || fail "tune: building"
"$work/tuning/build/tune" --output "$work/tuned.yaml" M=1,64 >"$log" 2>&1 || fail "tune: running"
[ "$(grep -c 'TileM: [0-9]*, TileN: [0-9]* .* us' "$log")" = 9 ] || fail "tune: it does not tell the times of 9 candidates"
"$prefix/bin/kgen" plan "$work/product.yaml" --specs "$work/tuned.yaml" >"$log" 2>&1 || fail "tune: its rules are none"
if "$work/tuning/build/tune" M=65 2>"$log"; then fail "tune: takes a size that is out of range"; fi
grep -q 'M: 65 is not in 1..64' "$log" || fail "tune: does not say what is wrong with a size"
echo "ok: a program that tunes builds and runs, and kgen takes its rules"

# Without the component gpu: the package refers to nothing that is not there.
"$cmake" --install "$kgen_build" --prefix "$work/without_gpu" --component Unspecified >"$log" 2>&1 || fail "installing without GPUs"
[ ! -f "$work/without_gpu/lib/libkgen_runtime_cuda.a" ] || fail "the runtime of CUDA is in no component of its own"
mkdir -p "$work/without_gpu/project"
cat >"$work/without_gpu/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(without_gpu LANGUAGES CXX)
find_package(kgen REQUIRED)
if(NOT TARGET kgen::runtime OR TARGET kgen::runtime_cuda OR TARGET kgen::runtime_hip)
  message(FATAL_ERROR "expected the runtime of CPUs alone")
endif()
END
"$cmake" -S "$work/without_gpu/project" -B "$work/without_gpu/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/without_gpu" >"$log" 2>&1 ||
  fail "without GPUs: configuring"
echo "ok: what is installed without GPUs is a whole package"

# The same project for a GPU: the program is linked, but not run.
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)
if [ -n "$nvcc" ] && [ -f "$prefix/lib/libkgen_runtime_cuda.a" ]; then
  cuda=$work/cuda
  mkdir "$cuda"
  cp "$project"/{main.cpp,gated_bias.yaml} "$cuda"
  sed 's/LANGUAGES CXX/LANGUAGES CXX CUDA/; s/TARGET cpu/TARGET cuda ARCH sm_90a/' \
    "$source/project/CMakeLists.txt" >"$cuda/CMakeLists.txt"
  CUDACXX=$nvcc "$cmake" -S "$cuda" -B "$cuda/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 ||
    fail "CUDA: configuring"
  build "$cuda/build" || fail "CUDA: building"
  compiled 'gated_bias\.emitted/stubs/stub_y\.cu' || fail "CUDA: the stub is not compiled"
  [ -x "$cuda/build/consumer" ] || fail "CUDA: no program is linked"
  build "$cuda/build" || fail "CUDA: again"
  grep -q 'ninja: no work to do' "$log" || fail "CUDA: the build has something to do again"
  echo "ok: CUDA: the graph's library and the program build"
else
  echo "skipped: the project for CUDA: there is no nvcc, or kgen was built without CUDA's toolkit"
fi

# A project in C alone; CMake has nothing to remark on it.
c_project=$work/c_project
cp -r "$source/c_project" "$c_project"
"$cmake" -S "$c_project" -B "$c_project/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>"$work/remarks.log" ||
  fail "C: configuring: $(cat "$work/remarks.log")"
[ ! -s "$work/remarks.log" ] || fail "C: configuring says: $(cat "$work/remarks.log")"
build "$c_project/build" || fail "C: building"
[ -f "$c_project/build/libshared_bias.so" ] || fail "C: SHARED makes no shared library"
for program in with_static with_shared with_own; do
  found=$("$c_project/build/$program") || fail "C: $program fails"
  [ "$found" = "0 0 1 3 5 7 9 11 " ] || fail "C: $program prints '$found'"
done
echo "ok: C: static, shared, and inside a shared library"

# Kernels of one's own, with the kgen that is installed.
own=$work/own
cp -r "$source/../../specs/graphs/custom" "$own"
plan_own() {
  "$prefix/bin/kgen" plan "$own/$1.yaml" --emit "$own/$1" --specs "$own/my_ops.yaml" --kernels "$own/my_kernels" \
    >"$log" 2>&1
}
build_own() {
  "$cmake" -S "$own/$1" -B "$own/$1/build" -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 || fail "configuring $1"
  build "$own/$1/build"
}
plan_own snake || fail "kgen plan with own kernels"
build_own snake || fail "the emitted folder does not find own kernels"
echo "ok: own kernels: planned and built by an installed kgen"
sed -i 's/bytes: 32/bytes: 40/' "$own/my_ops.yaml"
plan_own mandelbrot || fail "kgen plan with a struct"
if build_own mandelbrot; then fail "a struct of another size builds"; fi
grep -q 'fractal::Region has 40 bytes: my_ops.yaml' "$log" || fail "the size of the struct is not named"
echo "ok: a struct that is declared with a wrong size fails to build, and says where"
