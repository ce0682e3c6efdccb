#pragma once
// A chat template. It is rendered in this process, or, if it is not trusted, in processes without
// rights.

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/parser_process.h"
#include "jinja/template.h"

namespace s2s::data {

class ChatTemplate {
 public:
  using Variables = std::vector<std::pair<std::string, jinja::Value>>;

  /// `name` is that of its file, for messages.
  /// Errors: jinja::TemplateError with the line; [untrusted/parser].
  /// [untrusted/parser].
  ChatTemplate(std::string name, std::string text);

  /// Thread-safe. Errors: as above.
  jinja::MarkedText render(const Variables& variables) const;
  bool has_generation_blocks() const { return has_generation_blocks_; }

 private:
  /// Processes that have parsed the template and wait for documents.
  struct Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<ParserProcess>> processes;  // guarded by mutex
  };
  std::unique_ptr<ParserProcess> take() const;
  void give_back(std::unique_ptr<ParserProcess> process) const;

  std::string name_, text_;
  std::unique_ptr<jinja::Template> here_;
  std::unique_ptr<Idle> idle_;  // if parsers run in their own processes
  bool has_generation_blocks_ = false;
};

}  // namespace s2s::data
