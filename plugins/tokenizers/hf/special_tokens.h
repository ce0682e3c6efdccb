#pragma once
// Chooses BOS, EOS and PAD of a tokenizer.json from the options or its files.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hf_options.h"
#include "s2s/kinds/special_ids.h"
#include "vocabulary.h"

namespace s2s::hf {

/// The tokenizer's file and the files that belong to it in the same folder, if they exist.
struct TokenizerFiles {
  std::string tokenizer;              // tokenizer.json
  std::vector<std::string> settings;  // tokenizer_config.json, special_tokens_map.json
  std::vector<std::string> unread;    // chat_template.jinja, copied by an export

  std::vector<std::string> all() const;
};

/// `path`: the file, or a folder with a tokenizer.json or with exactly one .json. Settings are read
/// only for a file named tokenizer.json. Errors: [tokenizer/missing-file], [tokenizer/link].
TokenizerFiles find_files(const std::string& path, const std::string& place);

/// Errors: [tokenizer/unreadable].
nlohmann::json read_json(const std::string& path, const std::string& place);

/// Checks the post-processor: TemplateProcessing, ByteLevel or Sequences of them, which only add
/// special tokens. Errors: [tokenizer/unsupported], [tokenizer/definition].
void check_post_processor(const JsonLocation& location);

/// Finds an id that no option sets. Tried in this order: bos_token, eos_token, pad_token of the
/// options, then of the settings; the token that the template of the post-processor puts before
/// (BOS) or after (EOS) a text; the only added token with a common name; for PAD the unknown token.
/// The arguments must outlive the result. Errors of the result: [tokenizer/special-ids],
/// [tokenizer/unreadable]. Source of the last choice for PAD: NeMo get_pad_id, but never silently
/// 0.
SpecialIdOptions::Find find_special_ids(const HfOptions& options, const TokenizerFiles& files,
                                        const JsonLocation& post_processor,
                                        const Vocabulary& vocabulary, const std::string& place);

}  // namespace s2s::hf
