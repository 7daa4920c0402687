#!/usr/bin/env bash
# Graphs, functions, values and dims that are called as what emitted source and the headers it includes use themselves:
# what is planned compiles. And every macro of those headers is refused as a name.
#   names_test.sh CXX KGEN WORK_FOLDER
set -euo pipefail
cxx=$1
kgen=$2
work=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fail() { echo "FAILED: $*" >&2; exit 1; }

rm -rf "$work"
mkdir -p "$work"
cd "$work"
export KGEN_SHARE=$root
: >all.cpp

# plan NAME: the graph in NAME.yaml; its sources join all.cpp.
plan() {
  "$kgen" plan "$1.yaml" --emit "$1" --check --quiet || fail "kgen plan $1.yaml"
  find "$1" -path '*/.kgen' -prune -o -name '*.cpp' -print | sort | sed 's/.*/#include "&"/' >>all.cpp
}

for name in log exp tanh index time remove printf malloc all clean install help ALL_BUILD std kgen main size_t; do
  cat >$name.yaml <<END
graph: $name
dims: {$name: 1..64}
functions:
  called:
    inputs: {x: "f32[$name]"}
    nodes: [{op: exp, in: x, out: $name}]
    outputs: [$name]
inputs: {x: "f32[$name]"}
nodes:
- {call: called, in: x, out: a}
- {op: relu, in: a, out: y}
outputs: [y]
END
  sed -i "s/inputs: {x: \"f32\[$name\]\"}\$/&/; s/out: $name}\]/out: ${name}_}]/; s/outputs: \[$name\]/outputs: [${name}_]/" $name.yaml
  plan $name
done

# Values that are called as what a stub, a functor, a wrapper and check mode write beside them.
cat >values.yaml <<'END'
graph: values
dims: {M: 1..64, call: 1..64, slot: 1..64, run: 1..64, load: 1..64}
inputs:
  stream: f32[M, 16]
  body: f32[16, 32]
  prologue_a: f32[32]
  kgen: f32[call, slot]
  std: f32[slot]
  stub_y: f32[run, load]
constants:
  arena: {type: "f32[32]", values: 2.0}
nodes:
- {op: exp, in: stream, out: exp}
- {op: matmul, in: [exp, body], out: epilogue}
- {op: add, in: [epilogue, prologue_a], out: at}
- {op: mul, in: [at, arena], out: y}
- {op: softmax, in: kgen, out: row}
- {op: mul, in: [row, std], out: Row}
- {op: relu, in: Row, out: W}
- {op: add, in: [stub_y, 1.0], out: scratch}
- {op: tanh, in: scratch, out: shape}
- {op: matmul, in: [y, body_t], out: stub_y_epilogue}
- {op: transpose, in: body, out: body_t, perm: [1, 0]}
- {op: add, in: [stub_y_epilogue, stream], out: observer}
outputs: [y, W, shape, observer]
END
plan values

"$cxx" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I "$root/templates" -I "$root/runtime/include" -I . all.cpp ||
  fail "what was planned does not compile"
echo "ok: emitted sources of $(grep -c 'stubs/' all.cpp) stubs with awkward names compile"

"$cxx" -std=gnu++20 -fopenmp -dM -E -I "$root/templates" -I "$root/runtime/include" all.cpp |
  sed -E 's/^#define ([A-Za-z0-9_]+).*/\1/' | grep -v '^_' | sort -u >macros
[ "$(wc -l <macros)" -gt 500 ] || fail "there are only $(wc -l <macros) macros"
split -l 20 macros part.
for part in part.*; do
  { echo "graph: g"; echo "inputs:"; sed 's/.*/  &: "f32[4]"/' "$part"; echo "  x: f32[4]"
    echo "nodes: [{op: relu, in: x, out: y}]"; echo "outputs: [y]"; } >macros.yaml
  "$kgen" plan macros.yaml >messages 2>&1 && fail "these are taken as names, though macros: $(tr '\n' ' ' <"$part")"
  sed -n "s/.*error: '\(.*\)' cannot name a value.*/\1/p" messages | sort >refused
  [ -z "$(comm -23 "$part" refused)" ] || fail "taken as names, though macros: $(comm -23 "$part" refused | tr '\n' ' ')"
done
echo "ok: $(wc -l <macros) macros are refused as names"
