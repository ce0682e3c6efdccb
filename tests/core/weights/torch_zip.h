#pragma once
// Files of torch.save that tests make: zip archives without compression, and pickles of views.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace s2s::test {

inline std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
  return text;
}

/// An entry of a zip archive's directory: `begin` is where its local header is.
struct ZipMember {
  std::string name;
  uint64_t begin = 0, size = 0;
};

inline std::string zip_local_header(const std::string& name, uint64_t size) {
  return "PK\x03\x04" + little(20, 2) + std::string(12, '\0') + little(size, 4) + little(size, 4) +
         little(name.size(), 2) + little(0, 2) + name;
}

inline std::string zip_end(const std::string& content, const std::vector<ZipMember>& places) {
  std::string directory;
  for (const ZipMember& place : places) {
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) + std::string(12, '\0') +
                 little(place.size, 4) + little(place.size, 4) + little(place.name.size(), 2) +
                 std::string(12, '\0') + little(place.begin, 4) + place.name;
  }
  return directory + "PK\x05\x06" + std::string(4, '\0') + little(places.size(), 2) +
         little(places.size(), 2) + little(directory.size(), 4) + little(content.size(), 4) +
         little(0, 2);
}

/// A zip archive of these files.
inline std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string content;
  std::vector<ZipMember> places;
  for (const auto& [name, data] : files) {
    places.push_back({name, content.size(), data.size()});
    content += zip_local_header(name, data.size()) + data;
  }
  return content + zip_end(content, places);
}

inline std::string pickled_text(const std::string& text) {
  return "X" + little(text.size(), 4) + text;
}

inline std::string pickled_number(int64_t number) {
  return "\x8a\x08" + little(static_cast<uint64_t>(number), 8);
}

inline std::string pickled_sizes(const std::vector<int64_t>& sizes) {
  std::string text = "(";
  for (const int64_t size : sizes) text += pickled_number(size);
  return text + "t";
}

/// A tensor of 32-bit floats as a view of a storage.
struct PickledView {
  std::string name;
  std::vector<int64_t> sizes, strides;
  std::string storage = "0";
};

inline std::string pickled_view(const PickledView& view) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled_text("storage") +
         "ctorch\nFloatStorage\n" + pickled_text(view.storage) + pickled_text("cpu") +
         pickled_number(1) + "tQ" + pickled_number(0) + pickled_sizes(view.sizes) +
         pickled_sizes(view.strides) + "\x89}tR";
}

inline std::string pickled_state_dict(const std::vector<PickledView>& views) {
  std::string text = "\x80\x02}";
  for (const PickledView& view : views) {
    text += pickled_text(view.name) + pickled_view(view) + "s";
  }
  return text + ".";
}

/// A file of torch.save with these views of one storage "0" of `num_elements` zeros.
inline std::string torch_file_of(const std::vector<PickledView>& views, size_t num_elements) {
  return stored_zip({{"x/data.pkl", pickled_state_dict(views)},
                     {"x/data/0", std::string(4 * num_elements, '\0')}});
}

}  // namespace s2s::test
