#pragma once
// Sources that are converted, and what a conversion makes of them.

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "common/temporary_folder.h"
#include "convert/conversion.h"
#include "core/duplex/data_files.h"
#include "s2s/error.h"

namespace s2s::test {

/// All cuts of a source, through no file.
inline std::vector<Cut> imported(const std::string& source, const convert::ImportOptions& options) {
  const auto importer = convert::open_importer(source, options);
  std::vector<Cut> cuts;
  while (const auto piece = importer->next()) {
    for (Cut& cut : piece->make()) cuts.push_back(std::move(cut));
  }
  return cuts;
}

/// The message of what `run` throws; "" when it throws nothing.
inline std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// `seconds` of audio at `rate_hz`.
inline void write_seconds(const std::string& path, int rate_hz, double seconds, int channels = 1) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  write_audio(path, rate_hz, ramp(static_cast<int64_t>(seconds * rate_hz), channels), channels);
}

inline void make_folder(const std::string& path) { std::filesystem::create_directories(path); }

}  // namespace s2s::test
