// Encodes arrays and features of cuts for Shar.

#include <ATen/core/Tensor.h>

#include <cmath>
#include <utility>

#include "base/foreign_json.h"
#include "base/whole_number.h"
#include "cuts/cut_array.h"
#include "files/npy.h"
#include "shar/shar_errors.h"
#include "shar/shar_fields.h"

namespace s2s::data {
namespace {

using nlohmann::ordered_json;

struct StoredParts {
  const Cut& cut;
  const SharField& field;
  ordered_json manifest;

  [[noreturn]] void fail(const std::string& problem) const {
    throw shar_errors::field_value(cut.place(), field.name, problem);
  }

  ordered_json& storage() { return manifest.contains("array") ? manifest["array"] : manifest; }

  std::string bytes(const StoredArray& array) {
    if (auto bytes = read_array_bytes(array)) return std::move(*bytes);
    const ordered_json& of = storage();
    fail("is an array in the storage " +
         (of.contains("storage_type") ? of["storage_type"].dump() : std::string("''")) +
         ", which is not read (numpy_files and Shar are)");
  }

  /// A number of the manifest; 0 without it.
  double number(const char* name) const {
    const auto found = manifest.find(name);
    if (found == manifest.end()) return 0;
    if (!found->is_number()) fail("has a " + std::string(name) + " that is no number");
    return found->get<double>();
  }

  /// Returns the rows of the time dimension that belong to the cut.
  at::Tensor stretch(const at::Tensor& array) const {
    const bool is_features = manifest.contains("num_features");
    if (!is_features && !manifest.contains("temporal_dim")) return array;
    const int64_t dim = is_features ? 0 : to_whole(number("temporal_dim"));
    const double shift_s = number("frame_shift");
    if (shift_s <= 0 || dim < 0 || dim >= array.dim()) fail("has no valid frame_shift");
    const int64_t size = array.size(dim);
    // All of it, if the cut ends in its last frame.
    const double missing = cut.duration_s / shift_s - static_cast<double>(size);
    const double start_s = number("start");
    const bool begins_with_cut = cut.start_s == start_s;
    if (begins_with_cut && missing <= 0 && missing > -1) return array;
    const auto frames = [&](double seconds) {
      return std::min(size, to_whole(std::floor(seconds / shift_s + 0.5)));
    };
    const int64_t first = frames(std::max(0.0, cut.start_s - start_s));
    const int64_t count = std::min(size - first, std::max<int64_t>(1, frames(cut.duration_s)));
    return array.narrow(dim, first, count);
  }
};

const StoredArray* find_array(const Cut& cut, const std::string& name) {
  if (name == "features") return cut.features ? &*cut.features : nullptr;
  const CustomValue* const value = cut.find_custom(name);
  return value == nullptr ? nullptr : std::get_if<StoredArray>(value);
}

}  // namespace

std::optional<SharItem> shar_array(const Cut& cut, const SharField& field) {
  const StoredArray* const array = find_array(cut, field.name);
  if (array == nullptr) return std::nullopt;
  StoredParts parts{cut, field, try_parse_foreign_json<ordered_json>(array->manifest.text)};
  if (!parts.manifest.is_object() || !parts.storage().is_object()) {
    parts.fail("is no manifest of an array");
  }
  const std::string stored = parts.bytes(*array);
  const at::Tensor values =
      parts.stretch(files::parse_npy(stored, cut.place() + ": " + field.name));
  SharItem item;
  item.extension = "npy";
  item.data = files::format_npy(values);
  ordered_json& storage = parts.storage();
  storage["storage_type"] = "shar";
  storage["storage_path"] = "";
  storage["storage_key"] = "";
  if (parts.manifest.contains("start")) parts.manifest["start"] = 0.0;
  if (parts.manifest.contains("num_features")) {
    parts.manifest["duration"] = cut.duration_s;
    parts.manifest["num_frames"] = values.size(0);
  } else if (storage.contains("shape")) {
    storage["shape"] = values.sizes().vec();
  }
  item.placeholder = StoredArray{{parts.manifest.dump()}};
  item.manifest = parts.manifest.dump() + "\n";
  return item;
}

}  // namespace s2s::data
