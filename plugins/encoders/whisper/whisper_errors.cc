#include "whisper_errors.h"

#include <string>

namespace s2s::whisper {

Error window_error(int64_t num_frames, int64_t window_frames) {
  return data_error("encoder/window", "whisper was given " + std::to_string(num_frames) +
                                          " mel frames\n  expected: windows of " +
                                          std::to_string(window_frames) +
                                          " frames; pad the audio with zeros to whole windows");
}

}  // namespace s2s::whisper
