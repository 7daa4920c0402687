// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// lengths = add(last_position, 1)
struct stub_lengths_elementwise {
  kgen::View<const std::int64_t, 1> last_position;  // [B]
  kgen::View<std::int64_t, 1> lengths;              // [B]

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    lengths.store(at, kgen::Add::apply(last_position.load<W>(at), std::int64_t{1}));
  }
};

void stub_lengths(kgen::View<std::int64_t, 1> lengths, kgen::View<const std::int64_t, 1> last_position,
                  kgen::Stream stream) {
  const stub_lengths_elementwise body{last_position, lengths};
  kgen::elementwise(body.last_position.shape(), body, stream);
}

}  // namespace graph_paged_decode
