// cuBLASLt as a kernel of matrix multiplication, where the build says KGEN_CUBLASLT and links it.
#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "kgen/gpu/asked_once.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/types.hpp"
#include "kgen/view.hpp"

namespace kgen::gpu {

// The types of elements that are multiplied, and of results.
template <class T>
inline constexpr std::optional<cudaDataType_t> library_type = std::nullopt;
template <>
inline constexpr std::optional<cudaDataType_t> library_type<bf16> = CUDA_R_16BF;
template <>
inline constexpr std::optional<cudaDataType_t> library_type<f16> = CUDA_R_16F;
template <>
inline constexpr std::optional<cudaDataType_t> library_type<float> = CUDA_R_32F;

inline void require(cublasStatus_t status, Stream stream, const std::string& doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw LaunchError(std::string(stream.stub) + ": " + doing + " failed: cuBLASLt: " + cublasLtGetStatusString(status));
}

// A matrix as the library sees memory: columns of neighbours, `pitch` elements apart.
struct LibraryMatrix {
  std::int64_t rows, columns, pitch;
  bool turned;  // its columns are those of the View; else the View's rows
  int alignment;
  friend auto operator<=>(const LibraryMatrix&, const LibraryMatrix&) = default;
};

// Nothing where the View's elements are neighbours along no axis.
template <class T>
std::optional<LibraryMatrix> library_matrix(const View<T, 2>& view) {
  const bool turned = view.stride(1) != 1 && view.extent(1) > 1;
  const int along = turned ? 0 : 1, other = 1 - along;
  const std::int64_t rows = view.extent(along), columns = view.extent(other);
  const std::int64_t pitch = columns > 1 ? view.stride(other) : rows;
  if ((rows > 1 && view.stride(along) != 1) || pitch < rows) return std::nullopt;
  const auto address = reinterpret_cast<std::uintptr_t>(view.data());
  int alignment = 256;
  while (address % static_cast<std::uintptr_t>(alignment) != 0) alignment /= 2;
  return LibraryMatrix{rows, columns, pitch, turned, alignment};
}

// What the library's choice of an algorithm goes by.
struct LibraryProduct {
  int device;
  cudaDataType_t elements, results;
  LibraryMatrix a, b, c;
  friend auto operator<=>(const LibraryProduct&, const LibraryProduct&) = default;
};

// How it computes one, and how much memory that takes; no algorithm where it has none. The descriptions are memory of
// their own, which nobody has to give back.
struct LibraryPlan {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c;
  std::optional<cublasLtMatmulAlgo_t> algorithm;
  std::size_t bytes = 0;
};

// That of this device: made once, and left to the end of the process, as CUDA may be gone before what is static.
inline cublasLtHandle_t library_handle(int device, Stream stream) {
  static AskedOnce<cublasLtHandle_t> known;
  return known({device}, [&] {
    cublasLtHandle_t handle = nullptr;
    require(cublasLtCreate(&handle), stream, "preparing cuBLASLt");
    return handle;
  });
}

inline LibraryPlan plan_of(const LibraryProduct& product, cublasLtHandle_t handle, Stream stream) {
  LibraryPlan plan{};
  const auto done = [&](cublasStatus_t status) { require(status, stream, "describing a product"); };
  const auto describe = [&](cublasLtMatrixLayoutOpaque_t& layout, cudaDataType_t type, const LibraryMatrix& matrix) {
    done(cublasLtMatrixLayoutInit(&layout, type, static_cast<std::uint64_t>(matrix.rows),
                                  static_cast<std::uint64_t>(matrix.columns), matrix.pitch));
  };
  // Rows of memory are the library's columns: it computes the transposed product, b's transposed by a's.
  describe(plan.a, product.elements, product.a);
  describe(plan.b, product.elements, product.b);
  describe(plan.c, product.results, product.c);
  done(cublasLtMatmulDescInit(&plan.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const auto turn = [&](cublasLtMatmulDescAttributes_t which, bool turned) {
    const std::int32_t operation = turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    done(cublasLtMatmulDescSetAttribute(&plan.operation, which, &operation, sizeof(operation)));
  };
  turn(CUBLASLT_MATMUL_DESC_TRANSA, product.b.turned);
  turn(CUBLASLT_MATMUL_DESC_TRANSB, product.a.turned);

  cublasLtMatmulPreferenceOpaque_t wanted;
  done(cublasLtMatmulPreferenceInit(&wanted));
  const auto want = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    done(cublasLtMatmulPreferenceSetAttribute(&wanted, which, &value, sizeof(value)));
  };
  want(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{32} << 20);
  want(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
       static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));  // sums are f32 to the end
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(product.b.alignment));
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(product.a.alignment));
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(product.c.alignment));
  want(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(product.c.alignment));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, &plan.operation, &plan.b, &plan.a, &plan.c,
                                                               &plan.c, &wanted, 1, &found, &count);
  if (status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS) {
    plan.algorithm = found.algo;
    plan.bytes = found.workspaceSize;
  }
  return plan;
}

// Whether operands and a result of these types are a product of the library's: matrices in memory, of bf16 or f16.
template <class A, class B, class C>
inline constexpr bool is_library_product = false;
template <class T, class U, class R>
inline constexpr bool is_library_product<View<T, 2>, View<U, 2>, View<R, 2>> =
    std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>> &&
    sizeof(T) == 2 && library_type<std::remove_const_t<T>>&& library_type<R>;

// c = a * b: false where the library has no algorithm for it. What it chooses, it chooses once for each form of
// operands.
template <class A, class B, class R>
bool library_matmul(const A& a, const B& b, const View<R, 2>& c, Stream stream) {
  const auto left = library_matrix(a), right = library_matrix(b), result = library_matrix(c);
  const bool fits = left && right && result && !result->turned && element_count(c.shape()) > 0 && a.extent(1) > 0;
  if (!fits) return false;
  constexpr cudaDataType_t elements = *library_type<std::remove_const_t<typename A::element_type>>;
  const LibraryProduct product{current_device(stream), elements, *library_type<R>, *left, *right, *result};
  const cublasLtHandle_t handle = library_handle(product.device, stream);
  static AskedOnce<LibraryPlan, LibraryProduct> known;
  LibraryPlan plan = known(product, [&] { return plan_of(product, handle, stream); });
  if (!plan.algorithm) return false;
  const Workspace memory(static_cast<std::int64_t>(plan.bytes), stream);
  const float one = 1, zero = 0;
  require(cublasLtMatmul(handle, &plan.operation, &one, b.data(), &plan.b, a.data(), &plan.a, &zero, c.data(), &plan.c,
                         c.data(), &plan.c, &*plan.algorithm, memory.data(), plan.bytes, api::stream(stream.handle)),
          stream, "multiplying by cuBLASLt");
  return true;
}

}  // namespace kgen::gpu
