#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "common/temporary_folder.h"

namespace s2s::test {

/// One file in a folder of its own that gets new bytes again and again.
class InputFile {
 public:
  explicit InputFile(const std::string& name) : path_(folder_ / name) {}
  const std::string& write(const uint8_t* data, size_t size) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    return path_;
  }
  std::string folder() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace s2s::test
