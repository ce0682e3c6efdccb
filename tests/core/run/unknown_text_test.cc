#include "run/unknown_text.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <optional>

#include "core/duplex/table_tokenizer.h"

namespace {

/// Batches of one row, from ids.
class ListedSource final : public s2s::DataSource {
 public:
  explicit ListedSource(std::vector<std::vector<int64_t>> rows) : rows_(std::move(rows)) {}
  std::optional<s2s::Batch> next() override {
    if (next_ == rows_.size()) return std::nullopt;
    const std::vector<int64_t>& row = rows_[next_++];
    s2s::Batch batch;
    batch.target_tokens_BT = at::tensor(row, at::kLong).view({1, static_cast<int64_t>(row.size())});
    return batch;
  }
  std::string state() const override { return std::to_string(next_); }
  void restore(const std::string& state) override { next_ = state.empty() ? 0 : std::stoul(state); }

 private:
  std::vector<std::vector<int64_t>> rows_;
  size_t next_ = 0;
};

/// BOS 1, EOS 2, PAD 0.
class KnowingNo final : public s2s::test::TableTokenizer {
 public:
  explicit KnowingNo(int64_t unknown) : unknown_(unknown) {}
  int64_t unknown_id() const override { return unknown_; }

 private:
  int64_t unknown_;
};

/// The warnings while all batches are read, each after the number of its batch.
std::vector<std::string> warnings_of(const std::vector<std::vector<int64_t>>& rows,
                                     int64_t unknown) {
  const KnowingNo tokenizer(unknown);
  std::vector<std::string> lines;
  int num_batches = 0;
  const auto source = s2s::run::telling_unknown_text(
      std::make_unique<ListedSource>(rows), &tokenizer, [&](const std::string& message) {
        lines.push_back(std::to_string(num_batches) + " " + message);
      });
  while (source->next()) ++num_batches;
  CHECK(num_batches == static_cast<int>(rows.size()));
  return lines;
}

/// `count` tokens, of which the first ones are unknown (9).
std::vector<int64_t> row(int num_unknown, int count) {
  std::vector<int64_t> ids = {1};
  for (int i = 0; i < count; ++i) ids.push_back(i < num_unknown ? 9 : 20 + i % 50);
  ids.insert(ids.end(), {2, 0, 0, 0});
  return ids;
}

}  // namespace

TEST_CASE("unknown text is reported once, as soon as there are enough tokens") {
  const auto lines = warnings_of({row(30, 100), row(0, 100), row(100, 100)}, 9);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("1 [data/unknown-text] 30 of the first 200 text tokens are unknown"));
}

TEST_CASE("few unknown tokens, and late ones, are not reported") {
  CHECK(warnings_of({row(10, 200)}, 9).empty());
  CHECK(warnings_of({row(0, 200), row(200, 200)}, 9).empty());
  CHECK(warnings_of({}, 9).empty());
}

TEST_CASE("a short set is reported at its end, and a long one after eight batches") {
  CHECK(warnings_of({row(1, 3)}, 9).size() == 1);
  CHECK(warnings_of(std::vector<std::vector<int64_t>>(20, row(1, 3)), 9).size() == 1);
}

TEST_CASE("nothing is counted where the tokenizer knows every text or writes PAD") {
  CHECK(warnings_of({row(100, 200)}, -1).empty());
  CHECK(warnings_of({row(100, 200)}, 0).empty());
}
