#include "tokenizer_errors.h"

#include <fmt/format.h>

#include "s2s/foreign_text.h"

namespace s2s::hf_plugin::errors {

Error no_path(const std::string& place) {
  return config_error("tokenizer/no-path",
                      fmt::format("{}.path is missing; expected a tokenizer.json or a "
                                  "folder with one; 's2s-run tokenizer train' creates one",
                                  place));
}

Error missing_file(const std::string& place, const std::string& path) {
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

}  // namespace s2s::hf_plugin::errors
