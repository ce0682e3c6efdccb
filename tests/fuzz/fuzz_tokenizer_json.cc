// Any bytes as a tokenizer.json: it is refused with a message, or what is built of it encodes and
// decodes in the memory and time that the text allows.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/input_file.h"
#include "s2s/error.h"
#include "tokenizers/hf/hf_tokenizer.h"
#include "tokenizers/hf/unicode.h"

namespace {

namespace hf = s2s::hf;

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = {
      "",
      "Hello, world! It's 3.14 o'clock <s>now</s>",
      " \t\n  two  spaces\r\n\xE2\x80\xA8 end ",
      "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E \xF0\x9F\x98\x80 \xC3\xA9 e\xCC\x81 "
      "\xE1\xBA\xA1\xCC\x82",
      "\xFF\xFE not UTF-8 \xED\xA0\x80",
      std::string(1000, 'a') + std::string(300, ' ') + std::string(300, '1'),
  };
  return all;
}

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

std::unique_ptr<hf::HfTokenizer> open(const std::string& path) {
  hf::HfOptions options;
  try {
    return std::make_unique<hf::HfTokenizer>(options, path, "fuzz");
  } catch (const s2s::Error& error) {
    if (error.id() != "tokenizer/special-ids") throw;
  }
  options.bos_id = 0;
  options.eos_id = 1;
  options.pad_id = 2;
  return std::make_unique<hf::HfTokenizer>(options, path, "fuzz");
}

void use(const hf::HfTokenizer& tokenizer, const std::string& text) {
  const std::vector<int64_t> ids = tokenizer.encode(text);
  expect(tokenizer.encode(text) == ids);  // now from the cache
  for (const int64_t id : ids) expect(id >= 0 && id < tokenizer.vocab_size());
  expect(hf::is_valid_utf8(tokenizer.decode(ids)));
}

template <class Action>
void accept_errors(const Action& action) {
  try {
    action();
  } catch (const s2s::Error& error) {  // what a user would read
    expect(hf::is_valid_utf8(error.what()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile input("input.json");
  accept_errors([&] {
    const auto tokenizer = open(input.write(data, size));
    for (const std::string& text : texts()) accept_errors([&] { use(*tokenizer, text); });
    std::vector<int64_t> ids = {-1, std::numeric_limits<int64_t>::max()};
    for (int64_t id = 0; id < tokenizer->vocab_size() && id < 200; ++id) ids.push_back(id);
    for (const int64_t id : ids) tokenizer->piece(id);
    accept_errors([&] { expect(hf::is_valid_utf8(tokenizer->decode(ids))); });
  });
  return 0;
}
