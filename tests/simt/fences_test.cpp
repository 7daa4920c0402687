// The executor finds missing fences of the async proxy and of the tensor cores' registers: kernels that are wrong in
// one way each, beside their right form.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "kgen/gpu/warpgroup_sums.hpp"
#include "kgen/simt/executor.hpp"

using namespace kgen;
using namespace kgen::gpu;

namespace {

// Operands of a product of 64 x 8 x 16, of which every element is 1.
struct Tiles {
  alignas(tile_alignment) bf16 a[64 * 64];
  alignas(tile_alignment) bf16 b[8 * 64];
};

// What the executor says of a block of a warpgroup.
std::string report(const std::function<void()>& kernel) {
  const simt::Device before = simt::device();
  std::string problem;
  simt::device().wave_size = wave_size;
  try {
    simt::run({.name = "test", .threads = warpgroup_threads, .shared_bytes = 16 * 1024}, kernel);
  } catch (const simt::Error& error) {
    problem = error.what();
  }
  simt::device() = before;
  return problem;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// All threads write the tiles; those fence for which `fences` holds.
Tiles& write_tiles(bool (*fences)(int)) {
  SharedMemory memory;
  Tiles& tiles = *memory.take<Tiles>(1);
  const BlockPhase writing;
  for (int i = thread_index(); i < 64 * 64; i += warpgroup_threads) tiles.a[i] = static_cast<bf16>(1.0f);
  for (int i = thread_index(); i < 8 * 64; i += warpgroup_threads) tiles.b[i] = static_cast<bf16>(1.0f);
  if (fences(thread_index())) fence_async_proxy();
  return tiles;
}
bool each(int) { return true; }
bool none(int) { return false; }
bool first(int thread) { return thread == 0; }

void begin(float (&sums)[4], const Tiles& tiles, int adds = 0) {
  wgmma<bf16, 8, false>(sums, boxed_operand<bf16, 64, true>(tiles.a, 0), boxed_operand<bf16, 8, true>(tiles.b, 0),
                        adds);
}

// A product of tiles that some threads have fenced.
std::string multiply(bool (*fences)(int)) {
  return report([=] {
    const Tiles& tiles = write_tiles(fences);
    float sums[4];
    wgmma_fence();
    begin(sums, tiles);
    wgmma_commit();
    wgmma_wait<0>();
    for (const float sum : sums) CHECK(sum == 16.0f);
  });
}

}  // namespace

TEST_CASE("fences: tensor cores do not see what was written without a fence") {
  CHECK(multiply(each) == "");
  CHECK(contains(multiply(none), "which threads have written since the last fence_async_proxy()"));
  const simt::Device before = simt::device();
  simt::device().order = simt::Order::forward;  // in which the others write after the only one that fences
  CHECK(contains(multiply(first), "the tensor cores read byte"));
  simt::device() = before;
}

TEST_CASE("fences: what is written again while a product reads it") {
  const std::string problem = report([] {
    Tiles& tiles = write_tiles(each);
    float sums[4];
    wgmma_fence();
    begin(sums, tiles);
    wgmma_commit();
    tiles.a[thread_index()] = static_cast<bf16>(2.0f);
    wgmma_wait<0>();
  });
  CHECK(contains(problem, "the tensor cores read byte"));
}

TEST_CASE("fences: the copy engine writes where threads have written, and to mbarriers that were made") {
  std::vector<bf16> matrix(64 * 64);
  const auto copy = [&](bool publishes, bool writes, bool fences) {
    return report([&] {
      const auto map = tensor_map<bf16>(BoxedMemory<2>{matrix.data(), {64, 64}, {0, 128}, {64, 64}});
      SharedMemory memory;
      Tiles& tiles = *memory.take<Tiles>(1);
      auto* arrived = memory.take<Mbarrier>(1);
      {
        const BlockPhase making;
        if (thread_index() == 0) {
          arrived->init(1);
          if (publishes) publish_mbarriers();
          if (writes) tiles.a[7] = static_cast<bf16>(1.0f);
          if (fences) fence_async_proxy();
        }
      }
      if (thread_index() == 0) {
        arrived->arrive_and_expect(64 * swizzle_bytes);
        copy_tile(tiles.a, *map, *arrived, 0, 0);
      }
      arrived->wait(0);
    });
  };
  CHECK(copy(true, false, false) == "");
  CHECK(copy(true, true, true) == "");
  CHECK(contains(copy(true, true, false), "the copy engine writes byte"));
  CHECK(contains(copy(false, false, false), "an mbarrier that was made without publish_mbarriers()"));
}

TEST_CASE("fences: registers are the tensor cores' behind a fence, until products of theirs were waited for") {
  const auto multiply_twice = [](bool fences_first, bool waits_between, bool fences_between) {
    return report([=] {
      const Tiles& tiles = write_tiles(each);
      float sums[4];
      if (fences_first) wgmma_fence();
      begin(sums, tiles);
      wgmma_commit();
      if (waits_between) wgmma_wait<0>();
      if (fences_between) wgmma_fence();
      begin(sums, tiles, 1);
      wgmma_commit();
      wgmma_wait<0>();
      for (const float sum : sums) CHECK(sum == 32.0f);
    });
  };
  const std::string problem = "without a wgmma_fence() since its sums were this thread's";
  CHECK(multiply_twice(true, false, false) == "");
  CHECK(multiply_twice(true, true, true) == "");
  CHECK(contains(multiply_twice(false, false, true), problem));
  CHECK(contains(multiply_twice(true, true, false), problem));
}

TEST_CASE("fences: left operands in registers want one ahead of each group of products") {
  const auto multiply_groups = [](bool fences_between) {
    return report([=] {
      const Tiles& tiles = write_tiles(each);
      float sums[16];
      const std::uint32_t ones[] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};
      const std::uint64_t right = boxed_operand<bf16, 32, true>(tiles.a, 0);
      wgmma_fence();
      wgmma<bf16, 32, false>(sums, ones, right, 0);
      wgmma_commit();
      if (fences_between) wgmma_fence();
      wgmma<bf16, 32, false>(sums, ones, right, 1);
      wgmma_commit();
      wgmma_wait<0>();
      for (const float sum : sums) CHECK(sum == 32.0f);
    });
  };
  CHECK(multiply_groups(true) == "");
  CHECK(contains(multiply_groups(false), "a product of registers without a wgmma_fence() ahead of its group"));
}

#endif
