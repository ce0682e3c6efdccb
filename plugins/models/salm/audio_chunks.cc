#include "audio_chunks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace s2s::salm {

ChunkSizes chunk_sizes(std::optional<double> chunk_s, double min_chunk_s, int64_t sample_rate_hz) {
  const auto samples = [&](double duration_s) {
    const double rate_hz = static_cast<double>(sample_rate_hz);
    return std::max<int64_t>(1, static_cast<int64_t>(std::nearbyint(duration_s * rate_hz)));
  };
  ChunkSizes sizes;
  sizes.min_chunk = samples(min_chunk_s);
  if (chunk_s) sizes.chunk = std::max(samples(*chunk_s), sizes.min_chunk);
  return sizes;
}

std::vector<std::vector<int64_t>> split_lengths(const std::vector<int64_t>& audio_lens,
                                                const ChunkSizes& sizes) {
  std::vector<std::vector<int64_t>> all;
  for (const int64_t length : audio_lens) {
    std::vector<int64_t>& chunks = all.emplace_back();
    const int64_t chunk = sizes.chunk.value_or(length);
    for (int64_t begin = 0; begin < length; begin += chunk) {
      chunks.push_back(std::min(chunk, length - begin));
    }
    if (chunks.size() > 1 && chunks.back() < sizes.min_chunk) {
      const int64_t tail = chunks.back();
      chunks.pop_back();
      chunks.back() += tail;
    }
    if (chunks.empty()) chunks.push_back(0);
  }
  return all;
}

std::vector<int64_t> audio_frames(const Perception& perception,
                                  const std::vector<int64_t>& audio_lens, const ChunkSizes& sizes) {
  std::vector<int64_t> frames;
  for (const std::vector<int64_t>& chunks : split_lengths(audio_lens, sizes)) {
    int64_t sum = 0;
    for (const int64_t length : chunks) sum += perception.output_frames(length);
    frames.push_back(sum);
  }
  return frames;
}

at::Tensor encode_audios(Perception& perception, const at::Tensor& audio_AS,
                         const std::vector<int64_t>& audio_lens, const ChunkSizes& sizes) {
  std::vector<at::Tensor> chunks;
  std::vector<int64_t> lengths;
  const auto split = split_lengths(audio_lens, sizes);
  const bool is_cut =
      std::any_of(split.begin(), split.end(), [](const auto& lens) { return lens.size() > 1; });
  for (size_t i = 0; i < split.size(); ++i) {
    int64_t begin = 0;
    for (const int64_t length : split[i]) {
      chunks.push_back(audio_AS[static_cast<int64_t>(i)].narrow(0, begin, length));
      lengths.push_back(length);
      begin += length;
    }
  }
  at::Tensor rows_AS = audio_AS;
  if (is_cut) {
    rows_AS = at::zeros(
        {static_cast<int64_t>(chunks.size()), *std::max_element(lengths.begin(), lengths.end())},
        audio_AS.options());
    for (size_t i = 0; i < chunks.size(); ++i) {
      rows_AS[static_cast<int64_t>(i)].narrow(0, 0, lengths[i]).copy_(chunks[i]);
    }
  }
  const at::Tensor lengths_A = at::tensor(lengths, at::kLong).to(audio_AS.device());
  const EncoderOutput heard = perception.forward(rows_AS, lengths_A);
  std::vector<at::Tensor> frames;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t count = perception.output_frames(lengths[i]);
    frames.push_back(heard.features_BTH[static_cast<int64_t>(i)].narrow(0, 0, count));
  }
  return at::cat(frames);
}

}  // namespace s2s::salm
