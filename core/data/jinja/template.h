#pragma once
// Jinja templates in the environment that transformers gives to chat templates: trim_blocks,
// lstrip_blocks, loop controls, generation blocks, and tojson without escapes for HTML and
// non-ASCII.
// Source: Jinja2 3.1; transformers 5 utils/chat_template_utils.py.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace s2s::jinja {

/// The cost of a rendering, in Meter's units.
struct RenderCost {
  int64_t work = 0;
  int64_t most_live_bytes = 0;
};

/// The mark of text that a {% generation %} block wrote.
inline constexpr int64_t kGenerated = -1;

struct Program;

class Template {
 public:
  /// Errors: TemplateError with the line.
  explicit Template(std::string_view source);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// Renders the template. Thread-safe. The output keeps the marks of the variables' texts. `cost`
  /// is set also in case of an error.
  /// Errors: TemplateError with the line and column, also when a limit is exceeded; Interrupted.
  MarkedText render(const std::vector<std::pair<std::string, Value>>& variables,
                    const MeterLimits& limits = {}, RenderCost* cost = nullptr) const;
  bool has_generation_blocks() const;

 private:
  std::unique_ptr<const Program> program_;
};

}  // namespace s2s::jinja
