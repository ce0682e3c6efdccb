#include "files/npy.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/contains.h"
#include "s2s/error.h"

namespace s2s::files {
namespace {

TEST_CASE("arrays are written and read again") {
  for (const auto type : {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kShort, at::kByte}) {
    const at::Tensor array = at::arange(24).reshape({2, 3, 4}).to(type);
    const auto bytes = format_npy(array);
    CHECK(bytes.find('\n') % 64 == 63);
    const auto again = parse_npy(bytes, "x");
    CHECK((again.scalar_type() == type));
    CHECK(at::equal(again, array));
  }
  CHECK(at::equal(parse_npy(format_npy(at::zeros({0, 80})), "x"), at::zeros({0, 80})));
  CHECK(parse_npy(format_npy(at::ones({})), "x").dim() == 0);
  CHECK(test::contains(format_npy(at::zeros({7})), "'shape': (7,), }"));
}

std::string array_of(const std::string& header, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0', static_cast<char>(header.size()), '\0'};
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

TEST_CASE("byte order, order of dimensions and versions") {
  const std::string big("\x00\x01\x00\x02\x00\x03\x00\x04", 8);
  const std::string rows = "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 2), }";
  const std::string columns = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }";
  for (const int version : {1, 2, 3}) {
    const auto array = parse_npy(array_of(rows, big, version), "x");
    CHECK(at::equal(array, at::tensor({1, 2, 3, 4}).reshape({2, 2}).to(at::kShort)));
  }
  CHECK(at::equal(parse_npy(array_of(columns, big), "x"),
                  at::tensor({1, 3, 2, 4}).reshape({2, 2}).to(at::kShort)));
}

TEST_CASE("what is no array is one error") {
  const auto message = [](const std::string& bytes) -> std::string {
    try {
      parse_npy(bytes, "features.tar: a.npy");
    } catch (const Error& error) {
      CHECK(error.id() == "data/npy");
      return error.what();
    }
    return "";
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  CHECK(test::contains(message(""), "[data/npy] features.tar: a.npy"));
  CHECK(
      test::contains(message(array_of(good, "1234")), "it has 4 bytes of data, its shape needs 8"));
  CHECK(test::contains(message(array_of(good, "12345678", 4)), "version 4"));
  CHECK(test::contains(message(array_of("{'descr': '|O'}", "")), "descr"));
  CHECK(test::contains(message(array_of("{'descr': '<c8'}", "")), "'c8'"));
  CHECK(test::contains(message(array_of("{'descr': '<f4', 'fortran_order': False, 'shape': "
                                        "(99999999999, 99999999999)}",
                                        "")),
                       "too large"));
  CHECK_THROWS_AS(format_npy(at::zeros({2}, at::kComplexFloat)), Error);
}

}  // namespace
}  // namespace s2s::files
