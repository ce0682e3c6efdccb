#include "loader/row_loader.h"

#include <memory>
#include <utility>

#include "loader/loader_errors.h"
#include "s2s/data/frames.h"

namespace s2s::data {
namespace {

/// Names a cut that cannot be made, by its key.
std::string name_of(const std::vector<int64_t>& key) {
  std::string name = "cut";
  for (const int64_t number : key) name += " " + std::to_string(number);
  return name;
}

/// The cuts of a row, which are kept while they are read.
struct MadeRow {
  CutSequence sequence;
  std::vector<std::shared_ptr<const Cut>> cuts;
};

}  // namespace

BadCut bad_cut(std::string id, const Error& error) {
  return {std::move(id), error.exit_code(), error.id(), error.message()};
}

RowLoader::RowLoader(Rules rules, const Tokenizer& tokenizer, AudioLoader& audio)
    : rules_(std::move(rules)), tokenizer_(tokenizer), audio_(audio) {}

LoadedRow RowLoader::load_checked(const CutSequence& sequence) const {
  for (const SequencePart& part : sequence.parts) {
    if (part.cut->duration_s > rules_.longest_cut_s) {
      throw loader_errors::too_long(*part.cut, rules_.longest_cut_s);
    }
    Findings findings;
    check_duplex_cut(*part.cut, rules_.spec.data, rules_.allow_no_turns, findings);
    findings.throw_if_any();
  }
  LoadedRow row = load_row(sequence, rules_.spec, tokenizer_, audio_);
  if (rules_.spec.data.long_text == "error" && row.text.target_counts.long_turns > 0) {
    throw loader_errors::too_long_text(loader_errors::long_text(
        rules_.path, row.text.target_counts, *sequence.parts.front().cut, rules_.spec.data));
  }
  return row;
}

std::optional<BadCut> RowLoader::trouble_with(const CutSequence& sequence) const {
  try {
    load_checked(sequence);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    return bad_cut(sequence.parts.front().cut->id, error);
  }
  return std::nullopt;
}

LoadResult RowLoader::load_content(const BatchRow& row, const CutBatches& batches) const {
  LoadResult result;
  const BatchedCut& planned = row.cuts.front();
  std::string id = name_of(planned.key);
  try {
    const std::shared_ptr<const Cut> cut = planned.cut ? planned.cut : batches.make(planned.key);
    id = cut->id;
    if (cut->duration_s > rules_.longest_cut_s) {
      throw loader_errors::too_long(*cut, rules_.longest_cut_s);
    }
    result.content = rules_.kind->load(*cut, audio_);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    result.bad.push_back(bad_cut(id, error));
  }
  return result;
}

LoadResult RowLoader::load(const BatchRow& row, const CutBatches& batches) const {
  if (rules_.kind != nullptr) return load_content(row, batches);
  LoadResult result;
  MadeRow made;
  made.sequence.num_frames = row.num_frames;
  for (const BatchedCut& planned : row.cuts) {
    try {
      made.cuts.push_back(planned.cut ? planned.cut : batches.make(planned.key));
      made.sequence.parts.push_back({made.cuts.back().get(), planned.first_frame});
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kData) throw;
      result.bad.push_back(bad_cut(name_of(planned.key), error));
    }
  }
  const auto try_to_load = [&] {
    if (made.sequence.parts.empty() || (!result.bad.empty() && !rules_.leave_out)) return true;
    try {
      result.row = load_checked(made.sequence);
      return true;
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kData) throw;
      const bool one = made.sequence.parts.size() == 1;
      if (one) result.bad.push_back(bad_cut(made.sequence.parts.front().cut->id, error));
      return one;
    }
  };
  if (try_to_load()) return result;
  std::vector<SequencePart> good;
  for (const SequencePart& part : made.sequence.parts) {
    std::optional<BadCut> bad = trouble_with({{{part.cut, 0}}, 0});
    if (!bad) {
      good.push_back(part);
    } else {
      result.bad.push_back(std::move(*bad));
    }
  }
  S2S_ASSERT(!result.bad.empty(), "a row of several cuts is bad because one of them is");
  made.sequence.parts = std::move(good);
  try_to_load();
  return result;
}

RowLengths RowLoader::lengths(const BatchRow& row) const {
  const DuplexDataOptions& data = rules_.spec.data;
  const Cut* const first = row.cuts.front().cut.get();
  if (row.num_frames == 0 && first == nullptr) return {};
  const double duration_s = row.num_frames > 0
                                ? static_cast<double>(row.num_frames) * data.frame_length
                                : first->duration_s;
  if (duration_s > rules_.longest_cut_s) return {};
  return {compute_num_samples(duration_s, data.source_sample_rate),
          compute_num_samples(duration_s, data.target_sample_rate)};
}

}  // namespace s2s::data
