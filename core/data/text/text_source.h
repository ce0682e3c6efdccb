#pragma once
// The data source `text`: batches of documents.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s2s/build_context.h"
#include "s2s/kinds/data_source.h"
#include "text/document_encoder.h"
#include "text/document_order.h"
#include "text/text_files.h"
#include "text/text_options.h"

namespace s2s::data {

class TextSource : public DataSource {
 public:
  /// Opens the files and checks the first lines.
  /// Errors: those of opening and of lines, [data/text-path], [data/no-tokenizer].
  TextSource(const TextSourceOptions& options, const DataContext& context);

  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(const std::string& state) override;
  std::vector<std::string> texts() override;
  std::vector<std::string> left_out() const override;

 private:
  void check_first_lines();
  void check_labels();
  void tell_unread_keys() const;
  /// Returns nothing for a blank line and for a line that gives no document.
  std::optional<TokenDocument> document_at(int64_t line) const;
  std::string why_no_labels(int64_t num_lines) const;
  void add_bad_line(int64_t line, const Error& error);
  Batch load(PlannedBatch& planned) const;
  std::string order_fingerprint() const;

  TextSourceOptions options_;
  std::string path_;
  std::function<void(const std::string&)> warn_;
  int64_t rank_, num_ranks_;
  uint64_t seed_;
  TextFiles files_;
  DocumentEncoder encoder_;
  DocumentOrder order_;
  int64_t num_batches_ = 0;             // given to all data ranks together
  std::map<int64_t, std::string> bad_;  // by line
};

}  // namespace s2s::data
