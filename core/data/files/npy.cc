#include "files/npy.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/regex.h"
#include "files/files_errors.h"

namespace s2s::files {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct Element {
  std::string_view name;  // without the byte order
  at::ScalarType type;
};
constexpr std::array kElements = {
    Element{"f4", at::kFloat}, Element{"f8", at::kDouble}, Element{"f2", at::kHalf},
    Element{"i8", at::kLong},  Element{"i4", at::kInt},    Element{"i2", at::kShort},
    Element{"i1", at::kChar},  Element{"u1", at::kByte},   Element{"b1", at::kBool}};

struct Header {
  at::ScalarType type = at::kFloat;
  bool swap_bytes = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

struct Parser {
  const std::string& place;

  [[noreturn]] void fail(const std::string& reason) const {
    throw files_errors::npy(place, reason);
  }

  /// Returns the header's text and removes it from `bytes`, which keep the data.
  std::string_view take_header(std::string_view& bytes) const {
    if (!bytes.starts_with(kNpyMagic) || bytes.size() < 12) fail("it does not begin with a header");
    const int version = bytes[6];
    if (version < 1 || version > 3) fail("version " + std::to_string(version) + " is not known");
    const size_t length_bytes = version == 1 ? 2 : 4;
    size_t length = 0;
    for (size_t i = 0; i < length_bytes; ++i) {
      length |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
    }
    const size_t begin = 8 + length_bytes;
    constexpr size_t kMostBytes = 10000;  // NumPy's limit
    if (length > kMostBytes || length > bytes.size() - begin) fail("its header is cut off");
    const std::string_view header = bytes.substr(begin, length);
    bytes.remove_prefix(begin + length);
    return header;
  }

  Header parse(std::string_view text) const {
    Header header;
    static const Regex kDescr(R"('descr':\s*'([<>|=])([a-z][0-9]+)')");
    static const Regex kOrder(R"('fortran_order':\s*(True|False))");
    static const Regex kShape(R"('shape':\s*\(([0-9, L]{0,400})\))");
    const auto descr = kDescr.find(text);
    if (!descr) fail("its 'descr' is not simple");
    const std::string& name = (*descr)[2];
    const auto* element = std::find_if(kElements.begin(), kElements.end(),
                                       [&](const Element& e) { return e.name == name; });
    if (element == kElements.end()) fail("elements of type '" + name + "' are not read");
    header.type = element->type;
    header.swap_bytes = (*descr)[1] == ">";
    const auto order = kOrder.find(text);
    if (!order) fail("it has no 'fortran_order'");
    header.fortran_order = (*order)[1] == "True";
    const auto sizes = kShape.find(text);
    if (!sizes) fail("it has no 'shape'");
    header.shape = shape((*sizes)[1]);
    return header;
  }

  std::vector<int64_t> shape(const std::string& text) const {
    std::vector<int64_t> sizes;
    int64_t count = 1;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
      if (*at < '0' || *at > '9') {
        ++at;
        continue;
      }
      int64_t size = 0;
      const auto [next, code] = std::from_chars(at, end, size);
      // A size of 0 must not hide an overflow of the other sizes.
      if (code != std::errc() ||
          __builtin_mul_overflow(count, std::max<int64_t>(1, size), &count)) {
        fail("it is too large");
      }
      sizes.push_back(size);
      at = next;
    }
    constexpr size_t kMostDims = 64;
    if (sizes.size() > kMostDims) fail("it has too many dimensions");
    return sizes;
  }

  at::Tensor tensor(const Header& header, std::string_view data) const {
    const size_t element_bytes = c10::elementSize(header.type);
    size_t num_bytes = element_bytes;
    for (const int64_t size : header.shape) {
      if (__builtin_mul_overflow(num_bytes, static_cast<size_t>(size), &num_bytes)) {
        fail("it is too large");
      }
    }
    if (data.size() < num_bytes) {
      fail(fmt::format("it has {} bytes of data, its shape needs {}", data.size(), num_bytes));
    }
    std::vector<int64_t> sizes = header.shape;
    if (header.fortran_order) std::reverse(sizes.begin(), sizes.end());
    at::Tensor array = at::empty(sizes, header.type);
    auto* const to = static_cast<char*>(array.data_ptr());
    if (num_bytes > 0) std::memcpy(to, data.data(), num_bytes);
    if (header.swap_bytes) {
      for (size_t i = 0; i < num_bytes; i += element_bytes)
        std::reverse(to + i, to + i + element_bytes);
    }
    if (!header.fortran_order) return array;
    std::vector<int64_t> dims(sizes.size());
    for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(dims.size() - 1 - i);
    return array.permute(dims).contiguous();
  }
};

}  // namespace

at::Tensor parse_npy(std::string_view bytes, const std::string& place) {
  const Parser parser{place};
  const std::string_view text = parser.take_header(bytes);
  return parser.tensor(parser.parse(text), bytes);
}

std::string format_npy(const at::Tensor& array) {
  const auto* element = std::find_if(kElements.begin(), kElements.end(), [&](const Element& e) {
    return e.type == array.scalar_type();
  });
  if (element == kElements.end()) {
    throw files_errors::npy(
        "an array",
        std::string("elements of type ") + c10::toString(array.scalar_type()) + " are not written");
  }
  std::string shape;
  for (const int64_t size : array.sizes()) shape += std::to_string(size) + ", ";
  if (array.dim() > 1) shape.resize(shape.size() - 2);
  if (array.dim() == 1) shape.resize(shape.size() - 1);
  const char order = c10::elementSize(element->type) == 1 ? '|' : '<';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   order, element->name, shape);
  constexpr size_t kAlignment = 64;
  constexpr size_t kBefore = 10;
  // NumPy reserves space, so that the first size can grow.
  if (array.dim() > 0) {
    constexpr size_t kDigits = 21;
    header += std::string(kDigits - std::to_string(array.size(0)).size(), ' ');
  }
  header += std::string(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ') + '\n';
  std::string out(kNpyMagic);
  out += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
          static_cast<char>(header.size() >> 8)};
  out += header;
  const at::Tensor plain = array.contiguous().cpu();
  out.append(static_cast<const char*>(plain.data_ptr()), plain.nbytes());
  return out;
}

}  // namespace s2s::files
