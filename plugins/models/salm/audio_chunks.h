#pragma once
// Encodes long audio in chunks. Shape letters: A audios, S samples, T frames, H hidden.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "s2s/nn/perception.h"

namespace s2s::salm {

/// When audio is cut, in samples.
struct ChunkSizes {
  std::optional<int64_t> chunk;  // none: audio stays whole
  int64_t min_chunk = 1;         // a shorter tail joins the chunk before it
};

/// `chunk_s` and `min_chunk_s` in samples; chunks are at least min_chunk long.
/// Rounding: chunk_s halves to even, as Python's round; min_chunk_s likewise.
/// Source: NeMo encoder_chunking.py _get_chunk_size_samples.
ChunkSizes chunk_sizes(std::optional<double> chunk_s, double min_chunk_s, int64_t sample_rate_hz);

/// Lengths of the chunks of each audio; one of an audio that is not cut. Nothing is cut when no
/// audio is longer than a chunk.
/// Source: NeMo encoder_chunking.py _split_audio_into_chunks (tail folding).
std::vector<std::vector<int64_t>> split_lengths(const std::vector<int64_t>& audio_lens,
                                                const ChunkSizes& sizes);

/// Frames of each audio, without running the encoder.
std::vector<int64_t> audio_frames(const Perception& perception,
                                  const std::vector<int64_t>& audio_lens, const ChunkSizes& sizes);

/// Frames of all audios, one after another without padding: audio [A, S], lengths -> [T, H].
/// All chunks of the batch go through the perception together.
at::Tensor encode_audios(Perception& perception, const at::Tensor& audio_AS,
                         const std::vector<int64_t>& audio_lens, const ChunkSizes& sizes);

}  // namespace s2s::salm
