#pragma once
// Encodes long audio in chunks. Shape letters: A audios, S samples, T frames, H hidden.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "s2s/nn/perception.h"

namespace s2s::salm {

/// Where audio is split, in samples.
struct ChunkSizes {
  std::optional<int64_t> chunk;  // none: no split
  int64_t min_chunk = 1;         // a shorter tail joins the previous chunk
};

/// `chunk_s` and `min_chunk_s` in samples; chunks have at least min_chunk. Rounds halves to even,
/// as Python. Source: NeMo encoder_chunking.py _get_chunk_size_samples.
ChunkSizes chunk_sizes(std::optional<double> chunk_s, double min_chunk_s, int64_t sample_rate_hz);

/// Lengths of the chunks of each audio. Splits nothing if no audio is longer than a chunk. Source:
/// NeMo encoder_chunking.py _split_audio_into_chunks (tail folding).
std::vector<std::vector<int64_t>> split_lengths(const std::vector<int64_t>& audio_lens,
                                                const ChunkSizes& sizes);

/// Frames of each audio, computed without the encoder.
std::vector<int64_t> audio_frames(const Perception& perception,
                                  const std::vector<int64_t>& audio_lens, const ChunkSizes& sizes);

/// Frames of all audios in order, without padding: audio [A, S], lengths -> [T, H]. The perception
/// encodes all chunks of the batch at once.
at::Tensor encode_audios(Perception& perception, const at::Tensor& audio_AS,
                         const std::vector<int64_t>& audio_lens, const ChunkSizes& sizes);

}  // namespace s2s::salm
