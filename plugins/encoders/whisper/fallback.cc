#include "fallback.h"

#include <ATen/ATen.h>
#include <zlib.h>

#include <cmath>
#include <numeric>

#include "s2s/error.h"

namespace s2s::whisper {
namespace {

/// Whether the thresholds refuse a text. Sets its is_silent.
/// Source: transformers' WhisperGenerationMixin._need_fallback.
bool is_refused(const GenerationConfig& config, WindowText& text) {
  bool repeats = false;
  if (config.compression_ratio_threshold) {
    std::vector<int64_t> ids = text.ids;
    if (text.is_ended()) ids.push_back(config.eos_token_id);
    repeats = compression_ratio(ids, config.vocab_size) > *config.compression_ratio_threshold;
  }
  const double mean =
      text.sum_log_probability() / static_cast<double>(text.log_probabilities.size());
  const bool is_unlikely = config.logprob_threshold && mean < *config.logprob_threshold;
  text.is_silent = is_unlikely && config.no_speech_threshold &&
                   text.no_speech_probability > *config.no_speech_threshold;
  return !text.is_silent && (repeats || is_unlikely);
}

}  // namespace

double compression_ratio(const std::vector<int64_t>& ids, int64_t vocab_size) {
  const auto width = static_cast<int>(std::log2(static_cast<double>(vocab_size)) / 8) + 1;
  std::vector<Bytef> bytes;
  for (const int64_t id : ids) {
    for (int i = 0; i < width; ++i) bytes.push_back(static_cast<Bytef>(id >> (8 * i)));
  }
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<Bytef> packed(size);
  const int result = compress(packed.data(), &size, bytes.data(), static_cast<uLong>(bytes.size()));
  S2S_ASSERT(result == Z_OK, "zlib compresses into compressBound bytes");
  return static_cast<double>(bytes.size()) / static_cast<double>(size);
}

std::vector<WindowText> write_with_fallback(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                            const std::vector<WindowTask>& tasks,
                                            const WindowSearch& search) {
  std::vector<WindowText> texts(tasks.size());
  std::vector<int64_t> open(tasks.size());
  std::iota(open.begin(), open.end(), 0);
  for (const double temperature : search.config.temperatures) {
    std::vector<WindowTask> again;
    for (const int64_t row : open) again.push_back(tasks[static_cast<size_t>(row)]);
    const bool is_all = open.size() == tasks.size();
    const at::Tensor rows = at::tensor(open, at::kLong).to(frames_BTH.device());
    std::vector<WindowText> found =
        write_windows(decoder, is_all ? frames_BTH : frames_BTH.index_select(0, rows), again,
                      search, temperature);
    std::vector<int64_t> refused;
    for (size_t i = 0; i < open.size(); ++i) {
      if (is_refused(search.config, found[i])) refused.push_back(open[i]);
      texts[static_cast<size_t>(open[i])] = std::move(found[i]);
    }
    open = std::move(refused);
    if (open.empty()) break;
  }
  return texts;
}

}  // namespace s2s::whisper
