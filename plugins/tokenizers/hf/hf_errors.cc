#include "hf_errors.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "s2s/foreign_text.h"

namespace s2s::hf::errors {

Error no_path(const std::string& place) {
  return config_error("tokenizer/no-path",
                      fmt::format("{}.path is missing; expected a tokenizer.json or a "
                                  "folder with one; 's2s-run tokenizer train' creates one",
                                  place));
}

namespace {

/// Tokenizers of other forms that a folder has, and how to use them; "" when it has none.
std::string other_forms(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto has = [&](const char* name) { return fs::exists(fs::path(folder) / name, ignored); };
  const std::string convert =
      "; expected the tokenizer.json that transformers writes: python3 -c \"from transformers "
      "import AutoTokenizer as T; T.from_pretrained('" +
      folder + "').save_pretrained('" + folder + "')\"";
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".model") continue;
    const std::string file = entry.path().string();
    return "the SentencePiece model '" + printable_name(entry.path().filename().string()) +
           "'; to read it, write name: sentencepiece, path: " + printable_name(file);
  }
  if (has("vocab.json") && has("merges.txt")) return "vocab.json and merges.txt" + convert;
  if (has("vocab.txt")) return "vocab.txt" + convert;
  if (has("tekken.json")) return "tekken.json" + convert;
  return "";
}

}  // namespace

Error missing_file(const std::string& place, const std::string& path) {
  if (const std::string others = other_forms(path); !others.empty()) {
    return config_error("tokenizer/missing-file",
                        fmt::format("{}.path: the folder '{}' has no tokenizer.json, but {}", place,
                                    printable_name(path), others));
  }
  return config_error("tokenizer/missing-file",
                      fmt::format("{}.path: there is no tokenizer at '{}'; expected a "
                                  "tokenizer.json or a folder with one; check the path, or create "
                                  "one with 's2s-run tokenizer train'",
                                  place, path));
}

Error link_out(const std::string& place, const std::string& file, const std::string& target) {
  return config_error(
      "tokenizer/link",
      fmt::format("{}.path: '{}' is a link to '{}', outside of its folder; its text would "
                  "be copied into the run and each checkpoint; expected a file of the "
                  "folder; check the link's target, and copy the folder with cp -rL if you "
                  "want that file",
                  place, printable_name(file), printable_name(target)));
}

Error unreadable(const std::string& place, const std::string& path, const std::string& reason) {
  const std::string pointer = lfs_pointer_text(path);
  if (!pointer.empty()) {
    return config_error("tokenizer/unreadable",
                        fmt::format("{}.path: '{}': {}", place, path, pointer));
  }
  return config_error("tokenizer/unreadable",
                      fmt::format("{}.path: '{}' is not valid JSON: {}; expected a file saved by "
                                  "the tokenizers library; copy the file again",
                                  place, path, reason));
}

Error unsupported(const std::string& where, const std::string& value, const std::string& expected) {
  return config_error("tokenizer/unsupported",
                      fmt::format("{} is {}, which is not supported and would change the ids; "
                                  "expected {}; use another tokenizer or a plugin that supports it",
                                  where, value, expected));
}

Error definition(const std::string& where, const std::string& value, const std::string& expected) {
  return config_error("tokenizer/definition",
                      fmt::format("{} is {}; expected {}; the file is damaged or was "
                                  "edited by hand: copy or download it again",
                                  where, value, expected));
}

Error pattern_limit(const std::string& pattern, size_t num_bytes) {
  return data_error(
      "tokenizer/pattern-limit",
      fmt::format("matching the pattern '{}' on a text of {} bytes took more "
                  "steps or time than are allowed; expected texts of a sentence's or page's "
                  "length; split the text",
                  pattern, num_bytes));
}

Error text_growth(size_t given_bytes, size_t num_bytes) {
  return config_error(
      "tokenizer/text-growth",
      fmt::format("the steps of the tokenizer's file turn a text of {} bytes into {} bytes; "
                  "expected at most 64 times as many plus 1024; the file is damaged or was "
                  "edited by hand: copy or download it again",
                  given_bytes, num_bytes));
}

Error unknown_special(const std::string& place, const std::string& where, const std::string& token,
                      const std::string& name) {
  return config_error("tokenizer/special-ids",
                      fmt::format("{} is '{}', which the tokenizer does not have; "
                                  "expected one of its tokens; set {}.{}",
                                  where, token, place, name));
}

}  // namespace s2s::hf::errors
