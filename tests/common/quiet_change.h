#pragma once
// A file whose content changes and whose size and time do not.

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace s2s::test {

inline std::string whole_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Replaces the first `from` by `to`, of the same length, and sets the time back, as `touch -r`.
inline void change_quietly(const std::string& path, const std::string& from,
                           const std::string& to) {
  REQUIRE(from.size() == to.size());
  const auto time = std::filesystem::last_write_time(path);
  std::string text = whole_text(path);
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  // The clock of file systems ticks every few milliseconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::ofstream(path, std::ios::binary) << text;
  std::filesystem::last_write_time(path, time);
}

}  // namespace s2s::test
