#pragma once
// The text files of a Kaldi data directory.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "s2s/error.h"

namespace s2s::convert {

struct KaldiLine {
  std::string key;
  std::string value;  // the rest of the line, maybe ""
  int64_t line = 0;
};

/// Lines "KEY VALUE" in their order. Empty if the file does not exist.
class KaldiFile {
 public:
  /// Adds what is wrong with a line to `problems`: [data/kaldi], [data/duplicate-id]. Throws the
  /// 10,001st problem.
  /// Errors: that one, those of LineReader.
  KaldiFile(const std::string& path, std::vector<Error>& problems);

  bool exists() const { return exists_; }
  const std::vector<KaldiLine>& lines() const { return lines_; }
  /// Returns null if there is no such key.
  const KaldiLine* find(const std::string& key) const;
  std::optional<std::string> value(const std::string& key) const;
  const std::string& path() const { return path_; }
  std::string place(const KaldiLine& line) const;

 private:
  std::string path_;
  bool exists_ = false;
  std::vector<KaldiLine> lines_;
  std::unordered_map<std::string, size_t> by_key_;
};

struct KaldiSegment {
  std::string id;
  double start_s = 0;
  std::optional<double> end_s;  // nothing if the file has -1, the end of the recording
  std::string place;
};

/// Groups `segments` by recording, in their order.
std::unordered_map<std::string, std::vector<KaldiSegment>> kaldi_segments(
    const KaldiFile& segments, const KaldiFile& recordings, std::vector<Error>& problems);

}  // namespace s2s::convert
