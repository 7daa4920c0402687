// Operators and shorthands for the tests of generator/load.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

inline constexpr std::string_view test_operators = R"yaml(ops:
- op: add
  doc: Sum.
  kind: elementwise
  types: {T: number}
  operands: {a: T, b: T}
  results: {out: T}
  kernel: kgen::Add
  definition: a + b
  algebra: {commutative: true, identity: {b: 0}}
- op: relu
  kind: elementwise
  types: {T: number}
  operands: {x: T}
  results: {out: T}
  kernel: kgen::Relu
- op: cast
  kind: elementwise
  role: cast
  types: {T: any}
  operands: {x: T}
  results: {out: $to}
  attributes: {to: {type: dtype, doc: The dtype of the result.}}
  kernel: kgen::Cast
- op: sum
  kind: reduction
  types: {T: number}
  operands: {x: T}
  results: {out: T}
  attributes:
    axes: {type: dims, default: []}
    keepdims: {type: boolean, default: false}
  kernel: kgen::Sum
- op: reshape
  kind: view
  view: {form: reshape, shape: shape}
  types: {T: any}
  operands: {x: T}
  results: {out: T}
  attributes: {shape: {type: dims, doc: The shape of the result.}}
- op: slice
  kind: view
  view: {form: slice, axis: axis, begin: begin, end: end, step: step}
  types: {T: any}
  operands: {x: T}
  results: {out: T}
  attributes:
    axis: {type: integer}
    begin: {type: dim, default: 0}
    end: {type: dim, default: 9223372036854775807}
    step: {type: integer, default: 1}
- op: concat
  kind: view
  view: {form: concat, axis: axis}
  types: {T: any}
  operands: {parts: {type: T, variadic: true}}
  results: {out: T}
  attributes: {axis: {type: integer}}
- op: attention
  kind: structured
  types: {T: [f32, bf16]}
  operands:
    q: {type: T, shape: "[B, S, H, 128]", doc: Queries.}
    k: {type: T, shape: "[B, T, H, 128]"}
    mask: {type: T, optional: true}
  results: {out: {type: T, shape: "[..., H]"}}
  attributes:
    scale: {type: number, default: "1 / sqrt(H)"}
    mode: {type: text, default: full, allowed: [full, causal]}
  kernel: kgen::attention
- op: mean_variance
  kind: reduction
  types: {T: float}
  operands: {x: T}
  results: {mean: T, variance: T}
  attributes:
    axes: {type: dims, default: []}
    keepdims: {type: boolean, default: false}
  kernel: kgen::MeanVariance
)yaml";

// The operators above.
inline const OpSet& test_set() {
  static const SourceText source{"ops.yaml", std::string(test_operators)};
  static const OpSet set = [] {
    OpSet loaded;
    Diagnostics diagnostics;
    load_ops(source, loaded, diagnostics);
    return loaded;
  }();
  return set;
}

// What is printed about a graph.
inline std::string graph_messages(std::string_view text) {
  const SourceText source{"graph.yaml", std::string(text)};
  Diagnostics diagnostics;
  const bool loaded = load_graph(source, test_set(), diagnostics).has_value();
  return (loaded == diagnostics.has_errors() ? "loaded despite errors, or not loaded without:\n" : "") +
         diagnostics.text(false);
}

// What is printed about operators and kernels. Where `kernels` is empty the operators are not linked.
inline std::string ops_messages(std::string_view operators, std::string_view kernels = "") {
  const SourceText operator_source{"ops.yaml", std::string(operators)};
  const SourceText kernel_source{"kernels.yaml", std::string(kernels)};
  OpSet set;
  Diagnostics diagnostics;
  load_ops(operator_source, set, diagnostics);
  if (!kernels.empty()) {
    load_signatures(kernel_source, set, diagnostics);
    link_ops(set, diagnostics);
  }
  return diagnostics.text(false);
}

}  // namespace kgen
