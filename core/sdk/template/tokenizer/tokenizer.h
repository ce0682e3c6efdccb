#pragma once
// The tokenizer COMPONENT_NAME: pieces of a file, and single bytes where no piece matches.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "s2s/kinds/tokenizer.h"
#include "s2s/registry.h"

namespace PLUGIN_NAME {

struct Options {
  std::string path;
  void visit(s2s::OptionVisitor& v) {
    v("path", path, "text file with one piece per line, or its folder; \"\": bytes only");
  }
};

/// Thread-safe.
class Tokenizer final : public s2s::Tokenizer {
 public:
  /// file: one piece per line, including spaces; "": no pieces.
  /// Errors: [PLUGIN_NAME/file] when it cannot be read, [PLUGIN_NAME/piece] for a line that is
  /// empty, a duplicate, or ends with a carriage return.
  explicit Tokenizer(const std::string& file);

  std::vector<int64_t> encode(std::string_view text) const override;
  /// Invalid UTF-8 (a model may generate any bytes) becomes U+FFFD. Unknown ids are skipped.
  std::string decode(const std::vector<int64_t>& ids) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(pieces_.size()); }
  const s2s::SpecialIds& special_ids() const override { return special_; }
  std::string piece(int64_t id) const override;
  std::vector<std::string> files() const override;

 private:
  std::string file_;
  s2s::SpecialIds special_;
  std::vector<std::string> pieces_;               // by id; "" for special ids
  std::unordered_map<std::string, int64_t> ids_;  // of pieces
  size_t longest_ = 1;                            // bytes of the longest piece
};

std::unique_ptr<s2s::Tokenizer> create(const s2s::Config& options,
                                       const s2s::BuildContext& context);

}  // namespace PLUGIN_NAME
