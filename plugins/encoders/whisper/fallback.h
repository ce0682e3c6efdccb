#pragma once
// Windows that are written again with a higher temperature. Shape letters: B rows, T frames, H
// width.

#include <vector>

#include "window_search.h"

namespace s2s::whisper {

/// How many times the ids of a text are longer than what zlib makes of them.
/// Source: transformers' WhisperGenerationMixin._retrieve_compression_ratio.
double compression_ratio(const std::vector<int64_t>& ids, int64_t vocab_size);

/// As write_windows, with the first temperature of the configuration; rows whose texts its
/// thresholds refuse are written again with the next one. The last one's texts are taken as they
/// are. Source: transformers' WhisperGenerationMixin.generate_with_fallback, one window at a time.
std::vector<WindowText> write_with_fallback(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                            const std::vector<WindowTask>& tasks,
                                            const WindowSearch& search);

}  // namespace s2s::whisper
