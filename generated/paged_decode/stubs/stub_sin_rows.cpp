// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/lookup.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// cos_rows, sin_rows: embedding
struct stub_sin_rows_elementwise {
  kgen::Lines<const float, 3, 1> cos_table;         // [512, 16] along axis 1
  kgen::View<const std::int64_t, 3> cos_rows_rows;  // [B, S, 1] broadcast
  kgen::Lines<const float, 3, 1> sin_table;         // [512, 16] along axis 1
  kgen::View<float, 3> cos_rows;                    // [B, S, 16]
  kgen::View<float, 3> sin_rows;                    // [B, S, 16]

  template <int W>
  KGEN_FN void operator()(kgen::Index<3> at) const {
    const auto cos_rows_rows_value = cos_rows_rows.load<W>(at);
    cos_rows.store(at, kgen::Gather::apply(cos_table.load<W>(at), cos_rows_rows_value));  // embedding
    sin_rows.store(at, kgen::Gather::apply(sin_table.load<W>(at), cos_rows_rows_value));  // embedding
  }
};

void stub_sin_rows(kgen::View<float, 3> cos_rows, kgen::View<float, 3> sin_rows, kgen::View<const float, 2> cos_table,
                   kgen::View<const std::int64_t, 3> cos_rows_rows, kgen::View<const float, 2> sin_table,
                   kgen::Stream stream) {
  const stub_sin_rows_elementwise body{
      cos_table.unsqueeze<0>(),
      cos_rows_rows.broadcast_to(cos_rows.shape()),
      sin_table.unsqueeze<0>(),
      cos_rows,
      sin_rows,
  };
  kgen::elementwise(body.cos_rows_rows.shape(), body, stream);
}

}  // namespace graph_paged_decode
