#!/usr/bin/env bash
# Runs a fuzzer from the seeds on: run.sh FUZZER FOLDER [OPTIONS OF LIBFUZZER]. What it finds stands in the folder, as
# crash-*, timeout-* or oom-*; the same program run on such a file shows it again.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
fuzzer="$1" folder="$2"
shift 2
specs="$here/../../specs"

rm -rf "$folder/seeds"
mkdir -p "$folder/seeds" "$folder/corpus"
case "$(basename "$fuzzer")" in
  fuzz_graph) cp "$specs"/graphs/*.yaml "$here"/../examples/graphs/*.yaml "$folder/seeds" ;;
  fuzz_import) cp "$here"/models/*.onnx "$folder/seeds" ;;
  fuzz_specs) # the first byte says what follows
    for file in "$specs"/ops/*.yaml; do { printf o; cat "$file"; } >"$folder/seeds/ops_$(basename "$file")"; done
    for file in "$specs"/onnx/*.yaml; do { printf r; cat "$file"; } >"$folder/seeds/rules_$(basename "$file")"; done
    { printf k; head -c 20000 "$here/../../templates/kgen/signatures.yaml"; } >"$folder/seeds/kernels.yaml" ;;
esac
# What is allocated once and kept is no leak.
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
exec "$fuzzer" -artifact_prefix="$folder/" -max_len=4096 -timeout=10 -rss_limit_mb=4096 -dict="$here/words.dict" \
  -print_final_stats=1 -verbosity=0 "$@" "$folder/corpus" "$folder/seeds"
