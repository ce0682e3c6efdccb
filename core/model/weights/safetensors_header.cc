#include "weights/safetensors_header.h"

#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/foreign_json.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using nlohmann::json;
using weights_errors::tensor_format;

struct TypeName {
  const char* text;
  at::ScalarType type;
};
constexpr TypeName kTypes[] = {
    {"F64", at::kDouble},
    {"F32", at::kFloat},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
    {"U16", at::ScalarType::UInt16},
    {"U32", at::ScalarType::UInt32},
    {"U64", at::ScalarType::UInt64},
    {"C64", at::ScalarType::ComplexFloat},
    {"F8_E4M3", at::ScalarType::Float8_e4m3fn},
    {"F8_E5M2", at::ScalarType::Float8_e5m2},
    {"F8_E4M3FNUZ", at::ScalarType::Float8_e4m3fnuz},
    {"F8_E5M2FNUZ", at::ScalarType::Float8_e5m2fnuz},
    {"F8_E8M0", at::ScalarType::Float8_e8m0fnu},
};

/// A header is an object of objects of lists. The numbers are inside three levels.
constexpr int kHeaderDepth = 3;

/// Finds the first repeated key of an object. The parser's callback could do this too, but would
/// scan the entire object for each nested object.
class KeyWatch : public nlohmann::json_sax<json> {
 public:
  const std::string& repeated() const { return repeated_; }

  bool key(std::string& name) override {
    if (!open_.back().insert(name).second && repeated_.empty()) repeated_ = name;
    return true;
  }
  bool start_object(size_t /*size*/) override {
    open_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(int64_t /*value*/) override { return true; }
  bool number_unsigned(uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(json::binary_t& /*value*/) override { return true; }
  bool start_array(size_t /*size*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;  // the parser that runs next reports the error
  }

 private:
  std::vector<std::unordered_set<std::string>> open_;  // keys of the open objects
  std::string repeated_;
};

/// Parses JSON and returns the first repeated key of an object.
json parse_unique(const std::string& path, std::string_view text, std::string& repeated) {
  if (!is_json_depth_within(text, kHeaderDepth)) {
    throw weights_errors::format(path, "the header nests deeper than a list in a tensor's entry");
  }
  if (const auto refusal = json_refusal(text, kListsJson, /*is_ordered=*/false)) {
    throw weights_errors::format(path, "of the header, " + *refusal);
  }
  KeyWatch watch;
  json::sax_parse(text, &watch);
  repeated = watch.repeated();
  return parse_foreign_json(text, kListsJson);
}

std::map<std::string, std::string> read_metadata(const std::string& path, const json& node) {
  if (!node.is_object()) throw weights_errors::format(path, "__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : node.items()) {
    if (!value.is_string()) {
      throw weights_errors::format(
          path, fmt::format("__metadata__ '{}' is {}, expected a string", key, value.dump()));
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

bool is_list_of_counts(const json& node) {
  return node.is_array() && std::all_of(node.begin(), node.end(), [](const json& item) {
           return item.is_number_unsigned() &&
                  item.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
         });
}

/// Returns the bytes of a tensor, or nothing on overflow.
std::optional<uint64_t> num_bytes(const SafetensorsEntry& entry) {
  uint64_t bytes = c10::elementSize(entry.dtype);
  bool is_empty = false;  // strides must fit even when there are no elements
  for (const int64_t size : entry.sizes) {
    is_empty = is_empty || size == 0;
    const auto factor = static_cast<uint64_t>(std::max<int64_t>(size, 1));
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > INT64_MAX) return std::nullopt;
  }
  return is_empty ? 0 : bytes;
}

void check_keys(const std::string& path, const std::string& name, const json& node) {
  if (!node.is_object()) throw tensor_format(path, name, "expected an object");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!node.contains(key)) throw tensor_format(path, name, fmt::format("no '{}'", key));
  }
  for (const auto& [key, value] : node.items()) {
    if (key == "dtype" || key == "shape" || key == "data_offsets") continue;
    throw tensor_format(path, name, fmt::format("unknown key '{}'", key));
  }
}

SafetensorsEntry read_entry(const std::string& path, const std::string& name, const json& node) {
  check_keys(path, name, node);
  if (!node["dtype"].is_string()) throw tensor_format(path, name, "dtype is not a string");
  const std::string dtype = node["dtype"].get<std::string>();
  const auto type = type_of_text(dtype);
  if (!type) throw weights_errors::dtype(path, name, dtype);
  const json& shape = node["shape"];
  const json& offsets = node["data_offsets"];
  if (!is_list_of_counts(shape)) {
    throw tensor_format(path, name, "shape is " + shape.dump() + ", expected a list of counts");
  }
  if (!is_list_of_counts(offsets) || offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw tensor_format(path, name,
                        "data_offsets is " + offsets.dump() + ", expected [begin, end]");
  }
  SafetensorsEntry entry{*type, shape.get<std::vector<int64_t>>(), offsets[0].get<uint64_t>(),
                         offsets[1].get<uint64_t>()};
  const auto bytes = num_bytes(entry);
  if (!bytes || *bytes != entry.end - entry.begin) {
    throw tensor_format(
        path, name,
        fmt::format("{} of shape {} needs {} bytes, data_offsets give {}", dtype, shape.dump(),
                    bytes ? std::to_string(*bytes) : "too many", entry.end - entry.begin));
  }
  return entry;
}

/// Tensors must be contiguous, without gaps or overlaps, and must fill the data.
void check_layout(const std::string& path, const std::map<std::string, SafetensorsEntry>& entries,
                  uint64_t data_bytes) {
  std::vector<std::pair<const std::string*, const SafetensorsEntry*>> order;
  for (const auto& [name, entry] : entries) order.emplace_back(&name, &entry);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  uint64_t expected = 0;
  for (const auto& [name, entry] : order) {
    if (entry->begin != expected) {
      throw tensor_format(path, *name,
                          fmt::format("begins at byte {} of the data, expected {} (tensors follow "
                                      "each other without holes or overlaps)",
                                      entry->begin, expected));
    }
    expected = entry->end;
  }
  if (expected != data_bytes) {
    throw weights_errors::format(path, fmt::format("the header describes {} bytes of data, the "
                                                   "file has {}",
                                                   expected, data_bytes));
  }
}

}  // namespace

std::optional<at::ScalarType> type_of_text(const std::string& text) {
  for (const TypeName& entry : kTypes) {
    if (text == entry.text) return entry.type;
  }
  return std::nullopt;
}

std::string type_text(at::ScalarType type) {
  for (const TypeName& entry : kTypes) {
    if (entry.type == type) return entry.text;
  }
  return c10::toString(type);
}

SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view text,
                                           uint64_t data_bytes) {
  if (text.empty() || text.front() != '{') {
    throw weights_errors::format(path, "the header does not begin with '{'");
  }
  json root;
  std::string repeated;
  try {
    root = parse_unique(path, text, repeated);
  } catch (const json::exception& error) {
    throw weights_errors::format(path, std::string("the header is not JSON: ") + error.what());
  }
  if (!repeated.empty()) {
    throw weights_errors::format(path, fmt::format("the header has the key '{}' twice", repeated));
  }
  SafetensorsHeader header;
  for (const auto& [name, node] : root.items()) {
    if (name == "__metadata__") {
      header.metadata = read_metadata(path, node);
    } else {
      header.entries[name] = read_entry(path, name, node);
    }
  }
  check_layout(path, header.entries, data_bytes);
  return header;
}

std::string format_safetensors_header(const std::string& path, const SafetensorsHeader& header) {
  json root = json::object();
  if (!header.metadata.empty()) root["__metadata__"] = header.metadata;
  for (const auto& [name, entry] : header.entries) {
    const at::ScalarType type = entry.dtype;
    const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                    [&](const TypeName& t) { return t.type == type; });
    if (found == std::end(kTypes)) {
      throw weights_errors::dtype(path, name, c10::toString(entry.dtype));
    }
    root[name] = {
        {"dtype", found->text}, {"shape", entry.sizes}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = root.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace s2s
