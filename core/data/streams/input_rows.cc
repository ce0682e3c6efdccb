#include "streams/input_rows.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "cuts/cuts_errors.h"
#include "streams/input_source.h"

namespace s2s::data {
namespace {

/// Tokens of a whole pass, one behind the other.
class StreamRows : public CutRows {
 public:
  StreamRows(StreamPtr stream, const std::string& source, const files::OpenOptions& options)
      : stream_(std::move(stream)) {
    constexpr int64_t kReportEvery = 1000;
    const int64_t expected = stream_->size().value_or(0);
    while (const std::optional<CutItem> item = stream_->next()) {
      tokens_.insert(tokens_.end(), item->token.begin(), item->token.end());
      ends_.push_back(tokens_.size());
      if (options.on_progress && size() % kReportEvery == 0) {
        options.on_progress({source, size(), expected});
      }
    }
  }

  int64_t size() const override { return static_cast<int64_t>(ends_.size()); }
  uint64_t fingerprint() const override { return stream_->fingerprint(); }
  Cut cut(int64_t row) const override {
    const auto i = static_cast<size_t>(row);
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return *stream_->make(CutKeyView(tokens_).subspan(begin, ends_[i] - begin));
  }

 private:
  StreamPtr stream_;
  std::vector<int64_t> tokens_;
  std::vector<size_t> ends_;
};

}  // namespace

std::unique_ptr<CutRows> open_input_rows(const std::string& source,
                                         const files::OpenOptions& given) {
  files::OpenOptions options = given;
  if (!options.cache) options.cache = std::make_shared<files::ByteCache>();  // commands run once
  if (!is_changed_input(source, options)) return open_cut_rows(source, options);
  auto rows =
      std::make_unique<StreamRows>(open_input(source, false, options.on_damage), source, options);
  if (rows->size() == 0) throw cuts_errors::empty({source});
  return rows;
}

}  // namespace s2s::data
