// A cut of one recording.
#pragma once

#include <string>

#include "cuts/cut_files.h"

namespace s2s::test {

/// A part of the file `path`, as line 1 of "cuts.jsonl" would name it.
inline Cut recording_cut(const std::string& path, double start_s, double duration_s,
                         int64_t rate_hz, double recording_s) {
  Cut cut;
  cut.id = "d0";
  cut.manifest = "cuts.jsonl";
  cut.line = 1;
  cut.start_s = start_s;
  cut.duration_s = duration_s;
  cut.recording = Recording{"r",         {{AudioSource::Type::kFile, {0}, path}},
                            rate_hz,     static_cast<int64_t>(recording_s * 16000),
                            recording_s, {},
                            {}};
  return cut;
}

}  // namespace s2s::test
