// Fences: what the async proxy, by which the tensor cores and the copy engine reach shared memory, sees of it, and when
// registers are theirs. PTX ISA, "Async Proxy" (of wgmma and of cp.async.bulk): "Accessing the same memory location
// across multiple proxies needs a cross-proxy fence", fence.proxy.async; the end of a copy or a product implies one.
// "wgmma.fence": before the first product, and between an access to registers and a product that has them as sums or as
// its left operand, but for sums of products of one shape that follow each other. fence.mbarrier_init: of mbarriers
// that were made, for the cluster and the async proxy.
//
// Shared memory. Stores are plain C++ stores, which nobody sees; but beside each block's shared memory there is a
// second one, of what the async proxy has written or a fence has shown it. Where the two differ, somebody has written
// and not fenced: the async proxy may neither read nor write there. A fence shows all that the block has written so
// far, in the order in which its threads had their turns: where a thread has no fence of its own, it is found in an
// order in which it writes last. Not seen: who of several threads has fenced; bytes that were written as they were;
// ordinary reads, behind which the async proxy writes (mbarriers order them, and no fence is used); global memory.
//
// Registers. A fence holds for sums until the thread has waited for products, as its sums are the thread's again then;
// and for left operands until it ends a group of products. That asks for more than PTX where nothing has touched the
// registers since. Not seen: what is written to registers between a fence and the product.
#include <algorithm>
#include <cstring>

#include "running.hpp"

namespace kgen::simt {
namespace {

// The block whose shared memory it is in.
Block& owner_of(const void* memory) {
  const auto* byte = static_cast<const unsigned char*>(memory);
  for (Block& block : *running->cluster) {
    if (byte >= block.shared && byte < block.shared + block.launch.shared_bytes) return block;
  }
  fail("an address that is in no shared memory of the cluster");
}

// What the async proxy sees in the place of `memory`.
unsigned char* fenced(Block& block, const void* memory) {
  if (!block.has_fenced) std::memset(block.fenced, 0xff, block.launch.shared_bytes);  // as it begins
  block.has_fenced = true;
  return block.fenced + (static_cast<const unsigned char*>(memory) - block.shared);
}

void require_fenced(Block& block, const void* memory, std::size_t bytes, const char* what) {
  const auto first = static_cast<std::size_t>(static_cast<const unsigned char*>(memory) - block.shared);
  if (first > block.launch.shared_bytes || bytes > block.launch.shared_bytes - first) {
    fail(text(what, " past the end of shared memory"));
  }
  if (std::memcmp(fenced(block, memory), memory, bytes) == 0) return;
  fail(text(what, " byte ", first, " of shared memory, or one of the ", bytes - 1,
            " behind it, which threads have written since the last fence_async_proxy()"));
}

}  // namespace

void fence_async_proxy(Place place) {
  if (is_omitted(place)) return;
  std::memcpy(fenced(*running, running->shared), running->shared, running->launch.shared_bytes);
}

void read_async(const void* memory, std::size_t bytes) {
  require_fenced(*running, memory, bytes, "the tensor cores read");
}

void begin_write_async(void* memory, std::size_t bytes) {
  Block& block = owner_of(memory);
  require_fenced(block, memory, bytes, "the copy engine writes");
  std::memset(memory, 0xff, bytes);
  end_write_async(memory, bytes);
}
void end_write_async(const void* memory, std::size_t bytes) {
  std::memcpy(fenced(owner_of(memory), memory), memory, bytes);
}

void fence_registers(Place place) {
  if (!is_omitted(place)) this_thread().sums_are_fenced = this_thread().left_is_fenced = true;
}

void use_registers(const void* sums, bool has_left) {
  const Thread& thread = this_thread();
  const auto adds_to_sums = [&](const std::vector<Product>& group) {
    return std::any_of(group.begin(), group.end(), [&](const Product& product) { return product.sums == sums; });
  };
  if (has_left && !thread.left_is_fenced) fail("a product of registers without a wgmma_fence() ahead of its group");
  if (!thread.sums_are_fenced && std::none_of(thread.products.begin(), thread.products.end(), adds_to_sums)) {
    fail("a product without a wgmma_fence() since its sums were this thread's");
  }
}

void make_mbarrier(const void* mbarrier) { running->unpublished.push_back({mbarrier, running->current}); }

void publish_mbarriers(Place place) {
  if (is_omitted(place)) return;
  std::erase_if(running->unpublished, [](const Unpublished& each) { return each.thread == running->current; });
}

void reach_mbarrier(const void* mbarrier) {
  for (const Unpublished& each : owner_of(mbarrier).unpublished) {
    if (each.mbarrier == mbarrier) fail("reaches an mbarrier that was made without publish_mbarriers()");
  }
}

}  // namespace kgen::simt
