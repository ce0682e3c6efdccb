#pragma once
// SpeechSegment: where somebody speaks.

namespace s2s {

/// A stretch of speech on the clip's clock.
struct SpeechSegment {
  double start_s = 0;
  double end_s = 0;
};

}  // namespace s2s
