#pragma once
// Compressed safetensors files of tests/reference/data.

#include <string>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "files/open_bytes.h"
#include "weights/safetensors.h"

namespace s2s::test {

/// tests/reference/data/NAME, a file .safetensors.gz.
inline SafetensorsFile packed_safetensors(const std::string& name) {
  const TemporaryFolder dir;  // the file stays mapped
  return SafetensorsFile::open(dir.write(
      "golden.safetensors", files::read_all_bytes(source_dir() + "/tests/reference/data/" + name,
                                                  "a file of golden vectors")));
}

}  // namespace s2s::test
