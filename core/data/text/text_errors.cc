#include "text/text_errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "s2s/foreign_text.h"

namespace s2s::data::text_errors {

Error no_path(const std::string& path) {
  return config_error("data/text-path",
                      fmt::format("{}.path is not given; expected a JSONL file, or a list of them; "
                                  "add for example 'path: train.jsonl'",
                                  path));
}

Error no_tokenizer(const std::string& path) {
  return config_error(
      "data/no-tokenizer",
      fmt::format("{} needs a tokenizer for its texts, but there is none; set model.tokenizer, for "
                  "example {{name: hf, path: FOLDER}}; the folder of model.llm.path often has one",
                  path));
}

Error no_eos(const std::string& path) {
  return config_error("tokenizer/special-ids",
                      fmt::format("{}: the tokenizer has no EOS; expected one, because every "
                                  "document ends with it; set model.tokenizer.eos_id",
                                  path));
}

Error empty(const std::string& path) {
  return data_error("data/empty",
                    fmt::format("{}: a whole pass over the data gave no document; expected at "
                                "least one; check the files, and max_seq_len with long_text: drop",
                                path));
}

Error bad_state(const std::string& path, const std::string& state, const std::string& reason) {
  return data_error("data/state",
                    fmt::format("{}: '{}' is not a valid position in the data: {}; expected one "
                                "that a checkpoint of this kind of data saved; start a new run",
                                path, printable_name(state.substr(0, 80)), reason));
}

Error changed_data(const std::string& path) {
  return data_error(
      "data/state",
      fmt::format("{}: the files, shuffle or seed differ from those of the checkpoint; expected "
                  "the same for an exact resume; restore them, or set allow_changed_data: true to "
                  "restart the epoch",
                  path));
}

Error too_many_bad(const std::string& path, int64_t limit, const std::vector<std::string>& bad) {
  constexpr size_t kShown = 20;
  std::string list;
  for (size_t i = 0; i < std::min(bad.size(), kShown); ++i) list += "\n  " + bad[i];
  if (bad.size() > kShown) list += fmt::format("\n  and {} more", bad.size() - kShown);
  return data_error("data/too-many-bad",
                    fmt::format("{}: {} lines make no document; expected at most {} (skip_bad); "
                                "fix them, or raise skip_bad:{}",
                                path, bad.size(), limit, list));
}

Error keys(const std::string& place, const std::string& found, const std::string& expected) {
  return data_error("data/text-keys",
                    fmt::format("{}: {}; expected {}; fix the line, or name the keys with "
                                "text_key, prompt_key, response_key or messages_key",
                                place, found, expected));
}

Error prompt(const std::string& place, const std::string& found, const DocumentOptions& options) {
  return data_error(
      "data/prompt",
      fmt::format("{}: {}\n  expected: {{\"{}\": \"...\"}}, {{\"{}\": [...]}} or "
                  "{{\"instruction\": \"...\", \"input\": \"...\"}} in each line; in a file that "
                  "is not .jsonl, lines of text",
                  place, found, options.prompt_key, options.messages_key));
}

Error spoken_text(const std::string& place, const std::string& found) {
  return data_error(
      "data/spoken-text",
      fmt::format("{}: {}\n  expected: a text to speak, with or without the number of "
                  "its speaker in front: [0]Good morning.",
                  place, found));
}

Error spoken_turns(const std::string& place, const std::string& found) {
  return data_error(
      "data/spoken-turns",
      fmt::format("{}: {}\n  expected: \"messages\" as for transformers' apply_chat_template, the "
                  "last one without audio: {{\"role\": \"0\", \"content\": [{{\"type\": \"text\", "
                  "\"text\": \"...\"}}, {{\"type\": \"audio\", \"path\": \"a.wav\"}}]}}",
                  place, found));
}

Error empty_response(const std::string& place, const std::string& what) {
  return data_error("data/empty-response",
                    fmt::format("{}: {} is empty; expected text that the model can learn; fix or "
                                "remove the line, or skip such lines with skip_bad",
                                place, what));
}

Error messages(const std::string& place, const std::string& problem) {
  return data_error(
      "data/chat-messages",
      fmt::format("{}: {}; expected a list of messages, each with a role and content; fix the line",
                  place, problem));
}

Error too_long(const std::string& place, int64_t num_tokens, int64_t max_seq_len) {
  return data_error(
      "data/text-too-long",
      fmt::format("{}: the document has {} tokens; expected at most {} "
                  "(max_seq_len); shorten it, raise max_seq_len, or choose long_text: "
                  "cut or drop",
                  place, num_tokens, max_seq_len));
}

Error no_labels(const std::string& path, int64_t num_documents, const std::string& reason) {
  return data_error(
      "data/no-labels",
      fmt::format("{}: none of the first {} documents has a token that the model learns: {}; "
                  "expected responses (labels: response); correct the data, raise max_seq_len, or "
                  "set labels: all",
                  path, num_documents, reason));
}

Error not_json_lines(const std::string& path, const std::string& kind, const std::string& command) {
  return data_error("data/text-file",
                    fmt::format("{} is {}; expected JSON objects, one on each line or in an array; "
                                "convert it: {}",
                                path, kind, command));
}

Error no_match(const std::string& path, const std::string& pattern) {
  return config_error("data/text-path",
                      fmt::format("{}.path: no file matches '{}'; expected a JSONL file, a pattern "
                                  "or a folder with .jsonl, .json or .jsonl.gz files; check the "
                                  "path",
                                  path, pattern));
}

Error token_spans(const std::string& place, const std::string& near) {
  return data_error("data/text-tokens",
                    fmt::format("{}: cannot find which tokens belong to the response, because the "
                                "tokenizer changes the text near '{}'; expected tokens whose texts "
                                "are those of the document; use labels: all, or another tokenizer",
                                place, printable_name(near)));
}

Error no_template(const std::string& path, const std::string& folder, const std::string& problem) {
  return config_error(
      "data/chat-template",
      fmt::format("{}.chat_template: {}: {}; expected a Jinja template, as chat_template.jinja or "
                  "as chat_template in tokenizer_config.json; set chat_template: chatml, or the "
                  "path of a template",
                  path, folder, problem));
}

namespace {

std::string location_text(const TemplateLocation& at) {
  if (at.column == 0) return fmt::format("{}, line {}", at.source, at.line);
  return fmt::format("{}, line {}, column {}", at.source, at.line, at.column);
}

}  // namespace

Error template_syntax(const TemplateLocation& at, const std::string& reason) {
  return config_error("data/chat-template",
                      fmt::format("{}: {}; expected a Jinja template that transformers can "
                                  "render; fix the template",
                                  location_text(at), printable_name(reason)));
}

Error template_failed(const std::string& place, const TemplateLocation& at,
                      const std::string& reason, bool is_raised) {
  const std::string what = is_raised ? "refuses the messages: " : "fails: ";
  return data_error(
      "data/chat-template",
      fmt::format("{}: the chat template ({}) {}{}; expected messages that the template can "
                  "write; fix the line, or choose another chat_template",
                  place, location_text(at), what, printable_name(reason)));
}

Error template_interrupted(const std::string& place, const std::string& source) {
  return {ExitCode::kStopped, "data/chat-template-stopped",
          fmt::format("{}: stopped while the chat template ({}) wrote the document, which takes "
                      "long; expected a template that is done in milliseconds; run the same "
                      "command to continue",
                      place, source)};
}

}  // namespace s2s::data::text_errors
