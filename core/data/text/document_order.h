#pragma once
// Documents in the order of training, and rows and batches of them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/document_encoder.h"
#include "text/text_files.h"
#include "text/text_options.h"

namespace s2s::data {

/// Where the next document is: an epoch, and a place in its order.
struct DocumentCursor {
  int64_t epoch = 0;
  int64_t place = 0;

  bool operator==(const DocumentCursor&) const = default;
};

/// A document of a row. It is encoded where its length decides.
struct PlannedDocument {
  int64_t line = 0;  // of TextFiles
  std::optional<TokenDocument> tokens;
};
using PlannedRow = std::vector<PlannedDocument>;
using PlannedBatch = std::vector<PlannedRow>;

class DocumentOrder {
 public:
  /// `files` and `encoder` must live on. `path` names the options in messages; `on_bad` hears of
  /// lines that make no document, and throws when there are too many.
  DocumentOrder(const TextSourceOptions& options, uint64_t seed, const TextFiles& files,
                const DocumentEncoder& encoder, std::string path,
                std::function<void(int64_t line, const Error&)> on_bad);

  /// The next batch of the order that all data ranks share. Empty at the end of a finite order.
  /// Errors: those of a line, [data/text-too-long], [data/empty].
  std::optional<PlannedBatch> next();
  /// The first document of the next batch.
  DocumentCursor cursor() const { return ahead_ ? ahead_->second : cursor_; }
  void go_to(const DocumentCursor& cursor);

  /// The tokens of a planned document, no more than max_seq_len. Errors: as above.
  TokenDocument tokens(PlannedDocument& document) const;
  /// Line `place` of an epoch.
  int64_t line_at(int64_t epoch, int64_t place);

 private:
  std::optional<PlannedDocument> take();
  /// Nothing: the line has no document.
  std::optional<PlannedDocument> plan(int64_t line);
  std::optional<TokenDocument> fitted(int64_t line) const;
  PlannedRow next_row();
  int64_t length_of(const PlannedDocument& document) const;

  TextSourceOptions options_;
  uint64_t seed_;
  const TextFiles& files_;
  const DocumentEncoder& encoder_;
  std::string path_;
  std::function<void(int64_t, const Error&)> on_bad_;
  bool needs_lengths_;  // before it is known which documents are in a batch

  DocumentCursor cursor_;
  /// A document that did not fit in the last row, and where it is.
  std::optional<std::pair<PlannedDocument, DocumentCursor>> ahead_;
  std::vector<int32_t> lengths_;  // of lines, in tokens; 0: no document; -1: not known yet
  int64_t order_epoch_ = -1;
  std::vector<int64_t> order_;  // of that epoch; empty without shuffle
};

}  // namespace s2s::data
