#pragma once
// Errors of text data. `place` is "file:line".

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "text/text_options.h"

namespace s2s::data::text_errors {

/// `path` names the options of the data set.
Error no_path(const std::string& path);
Error no_tokenizer(const std::string& path);
Error no_eos(const std::string& path);
Error empty(const std::string& path);
Error bad_state(const std::string& path, const std::string& state, const std::string& reason);
Error changed_data(const std::string& path);
Error too_many_bad(const std::string& path, int64_t limit, const std::vector<std::string>& bad);

/// The line has none of the keys of a document.
Error keys(const std::string& place, const std::string& found, const std::string& expected);
/// The line is not a prompt.
Error prompt(const std::string& place, const std::string& found, const DocumentOptions& options);
/// [data/spoken-text] A model cannot speak the text: it is empty, or its speaker has another form.
Error spoken_text(const std::string& place, const std::string& found);
/// [data/spoken-turns] The messages are not turns that were spoken and one to speak.
Error spoken_turns(const std::string& place, const std::string& found);
Error empty_response(const std::string& place, const std::string& what);
Error messages(const std::string& place, const std::string& problem);
Error too_long(const std::string& place, int64_t num_tokens, int64_t max_seq_len);
Error no_labels(const std::string& path, int64_t num_documents, const std::string& reason);
/// `kind` is for example "a Parquet file"; `command` converts it to JSON lines.
Error not_json_lines(const std::string& path, const std::string& kind, const std::string& command);
/// The pattern or folder has no files.
Error no_match(const std::string& path, const std::string& pattern);
/// It cannot be found out which tokens belong to the response.
Error token_spans(const std::string& place, const std::string& near);

/// A location in a chat template.
struct TemplateLocation {
  std::string source;  // its file, or "chatml"
  int64_t line = 0;
  int64_t column = 0;  // in characters; 0: unknown
};
Error no_template(const std::string& path, const std::string& folder, const std::string& problem);
Error template_syntax(const TemplateLocation& at, const std::string& reason);
Error template_failed(const std::string& place, const TemplateLocation& at,
                      const std::string& reason, bool is_raised);
/// [data/chat-template-stopped] The user has asked the process to stop.
Error template_interrupted(const std::string& place, const std::string& source);

}  // namespace s2s::data::text_errors
