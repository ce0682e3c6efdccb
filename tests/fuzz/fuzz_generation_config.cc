// Any bytes as Whisper's config.json with its generation_config.json as a block: refused with a
// message, or the ids of a prompt lie in the vocabulary.

#include <cstddef>
#include <cstdint>
#include <string>

#include "encoders/whisper/generation_config.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace {

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

void check(const s2s::whisper::GenerationConfig& config) {
  for (const bool with_timestamps : {false, true}) {
    const std::vector<int64_t> prompt = config.prompt(with_timestamps);
    expect(!prompt.empty());
    for (size_t i = 0; i < prompt.size(); ++i) {
      expect(prompt[i] < config.vocab_size && (prompt[i] >= 0 || (i == 1 && prompt[i] == -1)));
    }
    for (int64_t length : {0, 1, 1000}) {
      expect(config.limit(length, static_cast<int64_t>(prompt.size())) >= 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* const language : {"", "german"}) {
    s2s::whisper::WhisperScorerOptions options;
    if (*language != '\0') options.language = language;
    try {
      check(s2s::whisper::read_generation(s2s::parse_json(text, "config.json"), "fuzz", options));
    } catch (const s2s::Error&) {  // what a user would read
    }
  }
  return 0;
}
