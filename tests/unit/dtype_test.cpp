#include "generator/model/dtype.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string_view>

using kgen::DType;

TEST_CASE("dtype: the table is in the order of the enumeration, and names are unique") {
  REQUIRE(kgen::dtype_table().size() == static_cast<std::size_t>(DType::boolean) + 1);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kgen::dtype_table().size(); ++i) {
    const kgen::DTypeInfo& entry = kgen::dtype_table()[i];
    CHECK(static_cast<std::size_t>(entry.dtype) == i);
    CHECK(names.insert(entry.name).second);
    CHECK(kgen::dtype_from_name(entry.name) == entry.dtype);
  }
}

TEST_CASE("dtype: facts") {
  CHECK(kgen::info(DType::bf16).cpp == "kgen::bf16");
  CHECK(kgen::info(DType::bf16).bytes == 2);
  CHECK(kgen::info(DType::bf16).compute == "float");
  CHECK(kgen::info(DType::f8e5m2).bytes == 1);
  CHECK(kgen::info(DType::i64).cpp == "std::int64_t");
  CHECK(kgen::info(DType::boolean).name == "bool");
  CHECK_FALSE(kgen::info(DType::u8).floating);
  CHECK_FALSE(kgen::dtype_from_name("float32"));
  CHECK_FALSE(kgen::dtype_from_name(""));
}

TEST_CASE("dtype: what arithmetic is done in") {
  CHECK(kgen::compute_dtype(DType::f64) == DType::f64);
  CHECK(kgen::compute_dtype(DType::f32) == DType::f32);
  CHECK(kgen::compute_dtype(DType::f16) == DType::f32);
  CHECK(kgen::compute_dtype(DType::f8e4m3) == DType::f32);
  CHECK(kgen::compute_dtype(DType::i8) == DType::i8);
  CHECK(kgen::compute_dtype(DType::boolean) == DType::boolean);
  for (const kgen::DTypeInfo& entry : kgen::dtype_table()) {
    CHECK(kgen::info(kgen::compute_dtype(entry.dtype)).cpp == entry.compute);
  }
}
