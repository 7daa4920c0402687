#include "generator/model/dtype.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string_view>

#include "generator/model/graph.hpp"

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
  CHECK(kgen::info(DType::bf16).bits == 16);
  CHECK(kgen::info(kgen::compute_dtype(DType::bf16)).cpp == "float");
  CHECK(kgen::info(DType::f8e5m2).bits == 8);
  CHECK(kgen::info(DType::i4).bits == 4);
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
  CHECK(kgen::compute_dtype(DType::i4) == DType::i8);
  CHECK(kgen::compute_dtype(DType::u2) == DType::u8);
  CHECK(kgen::compute_dtype(DType::f4e2m1) == DType::f32);
  CHECK(kgen::compute_dtype(DType::boolean) == DType::boolean);
  for (const kgen::DTypeInfo& entry : kgen::dtype_table()) {
    const kgen::DTypeInfo& computed = kgen::info(kgen::compute_dtype(entry.dtype));
    CHECK(kgen::compute_dtype(computed.dtype) == computed.dtype);
    CHECK(computed.floating == entry.floating);
    CHECK_FALSE(computed.cpp.starts_with("kgen::"));
  }
}

TEST_CASE("dtype: operators compute on all but those that are only stored") {
  for (const std::string_view name : {"number", "float", "integer", "signed"}) {
    for (const DType each : kgen::dtypes_of_class(name)) CHECK_FALSE(kgen::info(each).stored_only);
  }
  CHECK(kgen::dtypes_of_class("any").size() == kgen::dtype_table().size());
}

TEST_CASE("dtype: several elements share a byte, and tensors are whole bytes") {
  const auto bytes = [](DType dtype, const kgen::Shape& shape) { return kgen::bytes_of({dtype, shape}).text(); };
  CHECK(bytes(DType::i4, {3, 5}) == "8");
  CHECK(bytes(DType::u2, {3, 5}) == "4");
  CHECK(bytes(DType::f4e2m1, {}) == "1");
  CHECK(bytes(DType::i4, {0, 5}) == "0");
  CHECK(bytes(DType::i4, {kgen::Dim::symbol("M"), 8}) == "4*M");
  CHECK(bytes(DType::f16, {3, 5}) == "30");
}
