#pragma once
// BOS, EOS and PAD of a tokenizer.json: asked for, or what its files say.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options.h"
#include "s2s/kinds/tokenizer.h"
#include "vocabulary.h"

namespace s2s::hf_plugin {

/// The file and those beside it, as far as they exist and belong to it.
struct TokenizerFiles {
  std::string tokenizer;              // tokenizer.json
  std::vector<std::string> settings;  // tokenizer_config.json, special_tokens_map.json
  std::vector<std::string> unread;    // chat_template.jinja, for an export

  std::vector<std::string> all() const;
};

/// `path`: the file, or a folder with a tokenizer.json or else one .json. Only a file of that name
/// has settings beside it. Errors: [tokenizer/missing-file], [tokenizer/link].
TokenizerFiles find_files(const std::string& path, const std::string& place);

/// Errors: [tokenizer/unreadable].
nlohmann::json read_json(const std::string& path, const std::string& place);

/// Checks the post-processor: TemplateProcessing, ByteLevel and Sequences of them, which add
/// special tokens and nothing else. Errors: [tokenizer/unsupported], [tokenizer/definition].
void check_post_processor(const JsonPlace& place);

/// In this order: the options; bos_token, eos_token, pad_token of the settings; what the template
/// of the post-processor puts before (BOS) and behind (EOS) a text; the one added token with a
/// usual name; for PAD the unknown token. Errors: [tokenizer/special-ids], [tokenizer/unreadable].
/// Source of PAD's last choice: NeMo get_pad_id, but never silently 0.
SpecialIds choose_special_ids(const HfOptions& options, const TokenizerFiles& files,
                              const JsonPlace& post_processor, const Vocabulary& vocabulary,
                              const std::string& place);

}  // namespace s2s::hf_plugin
