// Any bytes as a SentencePiece model: refused with a message, or a tokenizer that encodes and
// decodes with ids that it has.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/input_file.h"
#include "s2s/error.h"
#include "tokenizers/sentencepiece/sentencepiece_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using s2s::sentencepiece_plugin::SentencePieceTokenizer;
  static const s2s::test::InputFile input("tokenizer.model");
  const std::string path = input.write(data, size);
  s2s::sentencepiece_plugin::SentencePieceOptions options;
  options.bos_id = 0;
  options.eos_id = 1;
  options.pad_id = 2;
  try {
    const SentencePieceTokenizer tokenizer(options, path, "fuzz");
    for (const std::string text : {"", "hello world", " \xE6\x97\xA5\xE6\x9C\xAC \xFF\xC0 x"}) {
      const std::vector<int64_t> ids = tokenizer.encode(text);
      for (const int64_t id : ids) {
        if (id < 0 || id >= tokenizer.vocab_size()) __builtin_trap();
      }
      tokenizer.decode(ids);
    }
    tokenizer.transformers_files();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
