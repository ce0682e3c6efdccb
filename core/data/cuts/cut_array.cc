#include "cuts/cut_array.h"

#include <filesystem>

#include "base/foreign_json.h"
#include "files/open_bytes.h"
#include "files/tar_index.h"

namespace s2s::data {

std::optional<std::string> read_array_bytes(const StoredArray& array) {
  if (array.bytes) return *array.bytes;
  const auto manifest = try_parse_foreign_json(array.manifest.text);
  if (!manifest.is_object()) return std::nullopt;
  const auto& storage = manifest.contains("array") ? manifest["array"] : manifest;
  if (!storage.is_object()) return std::nullopt;
  const auto text = [&storage](const char* name) {
    const auto found = storage.find(name);
    const bool is_text = found != storage.end() && found->is_string();
    return is_text ? found->get<std::string>() : std::string();
  };
  const std::string type = text("storage_type");
  const std::string key = text("storage_key");
  if (type == "numpy_files") {
    const std::filesystem::path folder = text("storage_path");
    return files::read_all_bytes((folder / key).string(),
                                 "an array of a cut; check its storage_path");
  }
  const auto pointer = files::parse_shar_pointer(key);
  if (type != "shar_ptr_array" || !pointer) return std::nullopt;
  return files::read_shar_pointer(*pointer);
}

}  // namespace s2s::data
