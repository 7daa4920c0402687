// Attention of many queries over keys and values of 8 bits: these are converted once, in memory set aside for the call,
// from where the tensor cores take them. For few queries skinny_attention.hpp converts them on their way. And attention
// over pages that the copy engine does not take, or of 8 bits: each sequence's keys are gathered there.
#pragma once

#include "kgen/fields.hpp"
#include "kgen/gpu/elementwise.hpp"
#include "kgen/gpu/warpgroup_attention.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// to = from, exactly.
template <class T, class Cached>
struct ConvertKeys {
  View<const Cached, 4> from;
  View<T, 4> to;

  template <int W>
  KGEN_FN void operator()(Index<4> at) const {
    to.store(at, from.template load<W>(at));
  }
};

// False where device or compiler do not allow it.
template <class T, class Cached, class Rule, class Q, class Mask, class Out>
bool converted_attention(const Q& q, const View<const Cached, 4>& k, const View<const Cached, 4>& v, const Mask& mask,
                         const AttentionShape<float, Rule>& shape, const Out& out, Stream stream) {
  if (!fits_warpgroup_attention(shape)) return false;
  const std::int64_t bytes = (element_count(k.shape()) * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
  const Workspace memory(2 * bytes, stream);
  const auto convert = [&](const View<const Cached, 4>& from, std::int64_t at) {
    const View<T, 4> to(reinterpret_cast<T*>(memory.data() + at), from.shape());
    gpu::elementwise(from.shape(), ConvertKeys<T, Cached>{from, to}, stream);
    return View<const T, 4>(to);
  };
  return warpgroup_attention<T>(q, convert(k, 0), convert(v, bytes), mask, shape, out, memory.stream());
}

// Which keys of a sequence lie somewhere.
template <class Rule>
struct MarkKeys {
  View<bool, 2> counts;
  Rule rule;

  template <int W>
  KGEN_FN void operator()(Index<2> at) const {
    bool found[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) found[i] = rule.run(at[0], at[1] + i).exists();
    counts.store(at, load_elements<W>(found));
  }
};

// to[b, t] = the keys of sequence b; zeros for those that lie nowhere, and behind the last as far as a tile reaches.
template <class T, class Cached, class Rule>
struct GatherKeys {
  Anywhere<View<const Cached, 4>> from;
  View<T, 4> to;
  Rule rule;

  template <int W>
  KGEN_FN void operator()(Index<4> at) const {
    constexpr std::int64_t most_of_tile = 128;
    const std::int64_t keys = rule.keys_of(at[0], to.extent(1));
    if (at[1] >= keys + most_of_tile) return;
    const KeyRun run = rule.run(at[0], at[1]);
    if (at[1] < keys && run.exists()) {
      to.store(at, from.view.template load<W>(Index<4>{run.sequence, run.position, at[2], at[3]}));
    } else {
      to.store(at, Vec<float, W>(0));
    }
  }
};

// What is added to scores of gathered keys: what a mask has of those that lie somewhere, whatever it has of the others.
template <class Mask>
struct GatheredMask {
  View<const bool, 4> counts;
  Mask mask;

  template <int W>
  KGEN_FN Vec<float, W> load(Index<4> at) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    return select(counts.load<W>(at), convert<float>(mask.template load<W>(at)), Vec<float, W>(-infinity));
  }
};
template <class Mask>
auto gathered_mask(const CountingKeys& counts, const Mask& mask) {
  if constexpr (std::is_same_v<Mask, NoMask>) {
    return counts;
  } else {
    return GatheredMask<Mask>{counts.counts, mask};
  }
}

// False where device or compiler do not allow it, and where sequences might have more keys than there are in all pages:
// tables are made for the longest sequence, and most of that memory would be for nothing.
template <class T, class Cached, class Rule, class Q, class Mask, class Out>
bool gathered_attention(const Q& q, const View<const Cached, 4>& k, const View<const Cached, 4>& v, const Mask& mask,
                        const AttentionShape<float, Rule>& shape, const Out& out, Stream stream) {
  if (!fits_warpgroup_attention(shape) || shape.B * shape.keys > k.extent(0) * k.extent(1)) return false;
  const Index<4> gathered{shape.B, shape.keys, shape.key_heads, shape.D};
  const std::int64_t bytes = (element_count(gathered) * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
  const Workspace memory(2 * bytes + shape.B * shape.keys, stream);
  const auto gather = [&](const View<const Cached, 4>& from, std::int64_t at) {
    const View<T, 4> to(reinterpret_cast<T*>(memory.data() + at), gathered);
    gpu::elementwise(gathered, GatherKeys<T, Cached, Rule>{{from}, to, shape.rule}, stream);
    return View<const T, 4>(to);
  };
  const View<bool, 2> counts(reinterpret_cast<bool*>(memory.data() + 2 * bytes), Index<2>{shape.B, shape.keys});
  gpu::elementwise(counts.shape(), MarkKeys<Rule>{counts, shape.rule}, stream);
  const View<const bool, 4> of_scores = View<const bool, 2>(counts).template unsqueeze<1>().template unsqueeze<2>();
  const CountingKeys counting{of_scores.broadcast_to(Index<4>{shape.B, shape.H, shape.S, shape.keys})};
  using Counted = typename Rule::Counted;
  const AttentionShape<float, Counted> own{shape.B,         shape.S,     shape.H,     shape.D,   shape.keys,
                                           shape.key_heads, shape.group, shape.scale, shape.rule};
  return warpgroup_attention<T>(q, gather(k, 0), gather(v, bytes), gathered_mask(counting, mask), own, out,
                                memory.stream());
}

}  // namespace kgen::gpu

#endif
