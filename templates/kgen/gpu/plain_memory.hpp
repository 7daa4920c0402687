// The accesses of kgen/gpu/device.hpp, which includes this, without hints: all memory alike.
#pragma once

namespace kgen::gpu {

template <int Bytes>
KGEN_FN Block<Bytes> load_global(const void* from) {
  return *static_cast<const Block<Bytes>*>(from);
}
template <int Bytes>
KGEN_FN Block<Bytes> load_constant(const void* from) {
  return load_global<Bytes>(from);
}
template <int Bytes>
KGEN_FN Block<Bytes> load_passing(const void* from) {
  return load_global<Bytes>(from);
}
template <int Bytes>
KGEN_FN void store_global(void* to, const Block<Bytes>& block) {
  *static_cast<Block<Bytes>*>(to) = block;
}
template <int Bytes>
KGEN_FN void store_shared(void* to, const Block<Bytes>& block) {
  *static_cast<Block<Bytes>*>(to) = block;
}

}  // namespace kgen::gpu
