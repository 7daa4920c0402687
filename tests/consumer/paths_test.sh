#!/usr/bin/env bash
# Files and folders whose names mean something to C++, CMake, make or a shell: what kgen writes of them stays text.
#   paths_test.sh CMAKE KGEN WORK_FOLDER
set -euo pipefail
cmake=$1
kgen=$2
work=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
log=$work/log

fail() {
  echo "FAILED: $*" >&2
  [ ! -f "$log" ] || tail -n 40 "$log" >&2
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
cd "$work"
export KGEN_SHARE=$root

# What stands for an installed kgen.
cat >kgen.cmake <<END
add_executable(kgen::kgen IMPORTED GLOBAL)
set_target_properties(kgen::kgen PROPERTIES IMPORTED_LOCATION "$kgen")
add_library(kgen::runtime INTERFACE IMPORTED GLOBAL)
target_include_directories(kgen::runtime INTERFACE "$root/runtime/include")
add_library(kgen::templates INTERFACE IMPORTED GLOBAL)
target_include_directories(kgen::templates INTERFACE "$root/templates")
include("$root/runtime/cmake/KgenAddGraph.cmake")
set(CMAKE_BUILD_TYPE Debug)
END

# Each of these names would lead out of a comment, a string or an argument, and then run a command.
command='execute_process(COMMAND touch pwned)'
for graph in $'evil\n'"$command"$'\n#.yaml' $'evil\r\n'"$command.yaml" 'back\' \
  '"); ]] ]=] ${X} $ENV{HOME} $<1:x> @X@ *; .yaml' $'\xe2\x80\xae turned \xff.yaml' '`touch pwned` $(touch pwned).yaml'; do
  rm -rf project
  mkdir -p project/graphs "project/my (odd) \$X @Y@ ;kernels"
  cp "$root"/specs/graphs/custom/snake.yaml "project/graphs/$graph"
  kernels="project/my (odd) \$X @Y@ ;kernels/ker)nels"
  cp -r "$root"/specs/graphs/custom/my_kernels "$kernels"
  # What the headers include each other as.
  cp -r "$root"/specs/graphs/custom/my_kernels "project/my (odd) \$X @Y@ ;kernels/my_kernels"
  specs=$'project/my\nops ".yaml'
  cp "$root"/specs/graphs/custom/my_ops.yaml "$specs"
  "$kgen" plan "project/graphs/$graph" --specs "$specs" --kernels "$kernels" --emit project/src --check >log 2>&1 ||
    fail "kgen plan $graph"
  cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(paths LANGUAGES CXX)
include(../kgen.cmake)
add_subdirectory(src)
get_target_property(directories snake INCLUDE_DIRECTORIES)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/directories "${directories}")
END
  "$cmake" -S project -B project/build -G Ninja >log 2>&1 || fail "configuring what came of $graph"
  [ -z "$(find . -name pwned)" ] || fail "configuring runs a command of $graph"
  grep -qF 'src/../my (odd) $X @Y@ \;kernels' project/build/directories || fail "$(cat project/build/directories)"
  for file in $(cd project/src && find . -name '*.[ch]pp'); do
    [ "$(head -n 3 "project/src/$file" | grep -c '^//')" = 2 ] || fail "the banner of $file of $graph"
  done
  "$kgen" status project/src >log 2>&1 || fail "kgen status after $graph"
done
echo "ok: names of graphs, specs and folders stay text in C++, in CMake and in the record"

# Such folders in kgen_add_graph, with Ninja and with make. (A quote in a path is beyond ninja's reader of depfiles.)
odd="odd (name) \$X @Y@"
mkdir -p "$odd/kernels here"
cp "$root"/specs/graphs/custom/snake.yaml "$odd/snake (1).yaml"
cp "$root"/specs/graphs/custom/my_ops.yaml "$odd/my ops.yaml"
cp -r "$root"/specs/graphs/custom/my_kernels "$odd/kernels here"
cat >"$odd/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(paths LANGUAGES CXX)
include(../kgen.cmake)
kgen_add_graph(snake GRAPH "snake (1).yaml" SPECS "my ops.yaml" KERNELS "kernels here/my_kernels" CHECK)
END
for generator in Ninja "Unix Makefiles"; do
  "$cmake" -S "$odd" -B "$odd/build $generator" -G "$generator" >log 2>&1 || fail "$generator: configuring"
  "$cmake" --build "$odd/build $generator" --parallel 2 >log 2>&1 || fail "$generator: building"
  touch "$odd/snake (1).yaml"
  "$cmake" --build "$odd/build $generator" --parallel 2 >log 2>&1 || fail "$generator: building again"
  ! grep -q 'Building CXX' log || fail "$generator: the same graph is compiled again"
  sed -i 's/op: mul,/op: add,/' "$odd/snake (1).yaml"
  "$cmake" --build "$odd/build $generator" --parallel 2 >log 2>&1 || fail "$generator: a changed graph"
  grep -q 'Building CXX.*stub_y' log || fail "$generator: a changed graph is not compiled"
  sed -i 's/op: add, in: \[wave/op: mul, in: [wave/' "$odd/snake (1).yaml"
done
echo "ok: kgen_add_graph takes folders and files of any name"
