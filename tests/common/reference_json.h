#pragma once
// Compressed golden vectors of tests/reference/data.

#include <nlohmann/json.hpp>
#include <string>

#include "common/places.h"
#include "files/open_bytes.h"

namespace s2s::test {

/// The content of tests/reference/data/NAME, a file .json.gz.
template <class Json = nlohmann::json>
Json reference_json(const std::string& name) {
  return Json::parse(files::read_all_bytes(source_dir() + "/tests/reference/data/" + name,
                                           "a file of golden vectors"));
}

}  // namespace s2s::test
