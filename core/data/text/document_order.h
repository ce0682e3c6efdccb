#pragma once
// The order of documents in training, and how they become rows and batches.

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

/// The position of the next document: an epoch, and an index in its order.
struct DocumentCursor {
  int64_t epoch = 0;
  int64_t place = 0;

  bool operator==(const DocumentCursor&) const = default;
};

/// A document of a row. It is encoded early if its length matters.
struct PlannedDocument {
  int64_t line = 0;  // number in TextFiles
  std::optional<TokenDocument> tokens;
};
using PlannedRow = std::vector<PlannedDocument>;
using PlannedBatch = std::vector<PlannedRow>;

class DocumentOrder {
 public:
  /// `files` and `encoder` must outlive the order. `path` names the options in messages. `on_bad`
  /// is called for lines that give no document, and throws when there are too many.
  DocumentOrder(const TextSourceOptions& options, uint64_t seed, const TextFiles& files,
                const DocumentEncoder& encoder, std::string path,
                std::function<void(int64_t line, const Error&)> on_bad);

  /// Returns the next batch of the order that all data ranks share; empty at the end of a finite
  /// order.
  /// Errors: those of a line, [data/text-too-long], [data/empty].
  std::optional<PlannedBatch> next();
  /// The first document of the next batch.
  DocumentCursor cursor() const { return ahead_ ? ahead_->second : cursor_; }
  void go_to(const DocumentCursor& cursor);

  /// Returns the tokens of a planned document, at most max_seq_len. Errors: as above.
  TokenDocument tokens(PlannedDocument& document) const;
  /// Returns the line at index `place` of an epoch's order.
  int64_t line_at(int64_t epoch, int64_t place);

 private:
  std::optional<PlannedDocument> take();
  /// Returns nothing if the line has no document.
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
  bool needs_lengths_;  // lengths must be known before documents are assigned to batches

  DocumentCursor cursor_;
  /// A document that did not fit into the last row, and its position.
  std::optional<std::pair<PlannedDocument, DocumentCursor>> ahead_;
  std::vector<int32_t> lengths_;  // tokens of each line; 0: no document; -1: unknown yet
  int64_t order_epoch_ = -1;
  std::vector<int64_t> order_;  // of the current epoch; empty without shuffle
};

}  // namespace s2s::data
