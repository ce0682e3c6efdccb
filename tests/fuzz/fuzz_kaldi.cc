// Any bytes as wav.scp and segments of a Kaldi data directory, divided by a line "--": each bad
// line is a problem with its place.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "convert/kaldi_files.h"
#include "fuzz/input_file.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace s2s::convert;
  static const s2s::test::InputFile recordings_file("wav.scp");
  static const s2s::test::InputFile segments_file("segments");
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(text.find("--\n"), size);
  const std::string recordings_path = recordings_file.write(data, middle);
  const std::string segments_path = segments_file.write(data + middle, size - middle);
  try {
    std::vector<s2s::Error> problems;
    const KaldiFile recordings(recordings_path, problems);
    const KaldiFile segments(segments_path, problems);
    size_t count = 0;
    for (const auto& [recording, of_it] : kaldi_segments(segments, recordings, problems)) {
      if (recordings.find(recording) == nullptr) __builtin_trap();
      count += of_it.size();
    }
    if (count > segments.lines().size()) __builtin_trap();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
