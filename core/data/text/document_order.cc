#include "text/document_order.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "streams/python_random.h"
#include "text/text_errors.h"

namespace s2s::data {

DocumentOrder::DocumentOrder(const TextSourceOptions& options, uint64_t seed,
                             const TextFiles& files, const DocumentEncoder& encoder,
                             std::string path,
                             std::function<void(int64_t line, const Error&)> on_bad)
    : options_(options),
      seed_(seed),
      files_(files),
      encoder_(encoder),
      path_(std::move(path)),
      on_bad_(std::move(on_bad)),
      needs_lengths_(options.packing != "none" || options.long_text == "drop" ||
                     options.skip_bad > 0),
      lengths_(static_cast<size_t>(files.size()), -1) {}

void DocumentOrder::go_to(const DocumentCursor& cursor) {
  cursor_ = cursor;
  ahead_.reset();
}

int64_t DocumentOrder::line_at(int64_t epoch, int64_t place) {
  if (!options_.shuffle) return place;
  if (order_epoch_ != epoch) {
    order_.resize(static_cast<size_t>(files_.size()));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    PythonRandom random(static_cast<int64_t>((seed_ + static_cast<uint64_t>(epoch)) & INT64_MAX));
    random.shuffle(order_);
    order_epoch_ = epoch;
  }
  return order_[static_cast<size_t>(place)];
}

/// Returns the line's tokens with max_seq_len applied, or nothing if the document is dropped.
std::optional<TokenDocument> DocumentOrder::fitted(int64_t line) const {
  const LineOrigin origin = files_.origin(line);
  TokenDocument document = encoder_.encode(files_.line(line), origin);
  if (document.size() <= options_.max_seq_len) return document;
  if (options_.long_text == "drop") return std::nullopt;
  if (options_.long_text == "error") {
    throw text_errors::too_long(origin.text(), document.size(), options_.max_seq_len);
  }
  document.ids.resize(static_cast<size_t>(options_.max_seq_len));
  document.is_label.resize(document.ids.size());
  return document;
}

TokenDocument DocumentOrder::tokens(PlannedDocument& document) const {
  if (document.tokens) return std::move(*document.tokens);
  std::optional<TokenDocument> made = fitted(document.line);
  S2S_ASSERT(made.has_value(), "documents that are dropped are not planned");
  return std::move(*made);
}

std::optional<PlannedDocument> DocumentOrder::plan(int64_t line) {
  int32_t& length = lengths_[static_cast<size_t>(line)];
  if (length == 0) return std::nullopt;
  if (length > 0) return PlannedDocument{line, std::nullopt};
  PlannedDocument planned{line, std::nullopt};
  if (is_blank_line(files_.line(line))) {
    length = 0;
    return std::nullopt;
  }
  if (!needs_lengths_) return planned;
  try {
    planned.tokens = fitted(line);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kStopped) throw;  // a stop does not make the line bad
    on_bad_(line, error);
  }
  length = planned.tokens ? static_cast<int32_t>(planned.tokens->size()) : 0;
  return planned.tokens ? std::optional(std::move(planned)) : std::nullopt;
}

std::optional<PlannedDocument> DocumentOrder::take() {
  if (ahead_) {
    PlannedDocument document = std::move(ahead_->first);
    ahead_.reset();
    return document;
  }
  for (int64_t skipped = 0; skipped <= files_.size(); ++skipped) {
    if (cursor_.place >= files_.size()) {
      if (!options_.repeat) return std::nullopt;
      cursor_ = {cursor_.epoch + 1, 0};
      if (files_.size() == 0) break;
    }
    const int64_t line = line_at(cursor_.epoch, cursor_.place);
    ++cursor_.place;
    if (auto document = plan(line)) return document;
  }
  throw text_errors::empty(path_);
}

int64_t DocumentOrder::length_of(const PlannedDocument& document) const {
  return lengths_[static_cast<size_t>(document.line)];
}

PlannedRow DocumentOrder::next_row() {
  PlannedRow row;
  int64_t length = 0;
  for (;;) {
    const DocumentCursor before = cursor();
    std::optional<PlannedDocument> document = take();
    if (!document) return row;
    if (options_.packing == "none") {
      row.push_back(std::move(*document));
      return row;
    }
    if (!row.empty() && length + length_of(*document) > options_.max_seq_len) {
      ahead_.emplace(std::move(*document), before);
      return row;
    }
    length += length_of(*document);
    row.push_back(std::move(*document));
  }
}

std::optional<PlannedBatch> DocumentOrder::next() {
  PlannedBatch batch;
  while (static_cast<int64_t>(batch.size()) < options_.batch_size) {
    PlannedRow row = next_row();
    if (row.empty()) break;
    batch.push_back(std::move(row));
  }
  return batch.empty() ? std::nullopt : std::optional(std::move(batch));
}

}  // namespace s2s::data
