#include "duplex/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/fnv.h"
#include "base/text.h"
#include "cuts/cut_audio.h"
#include "cuts/cuts_errors.h"
#include "s2s/data/frames.h"

namespace s2s::data {
namespace {

constexpr size_t kMaxListed = 20;
constexpr size_t kMaxIds = 2000000;

/// Counts words, and words with a part that the tokenizer does not know or encodes as silence.
void count_words(const std::string& text, const Tokenizer& tokenizer, SpeakerReport& speaker) {
  std::istringstream words(text);
  const int64_t pad = tokenizer.special_ids().pad, unknown = tokenizer.unknown_id();
  for (std::string word; words >> word;) {
    const std::vector<int64_t> ids = tokenizer.encode(word);
    ++speaker.words;
    speaker.unknown_words +=
        std::any_of(ids.begin(), ids.end(), [&](int64_t id) { return id == pad || id == unknown; });
  }
}

std::string ending_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  return ending.empty() ? "?" : ending.substr(1);
}

std::string format_of(const AudioSource& source) {
  switch (source.type) {
    case AudioSource::Type::kFile:
      return ending_of(source.source) + " file";
    case AudioSource::Type::kCommand:
      return "command";
    case AudioSource::Type::kUrl:
      return "URL";
    case AudioSource::Type::kMemory:
      return "memory";
    case AudioSource::Type::kShar:
    case AudioSource::Type::kSharPointer:
      return "shar";
  }
  return "?";
}

}  // namespace

Histogram::Histogram(std::vector<double> lower_edges)
    : edges(std::move(lower_edges)), counts(edges.size(), 0) {}

void Histogram::add(double value) {
  const auto above = std::upper_bound(edges.begin(), edges.end(), value);
  ++counts[static_cast<size_t>(std::max<std::ptrdiff_t>(0, above - edges.begin() - 1))];
}

int64_t Histogram::total() const {
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return sum;
}

void RecordingKinds::add(const Recording* recording) {
  if (recording == nullptr) {
    ++missing;
    return;
  }
  ++sample_rates[recording->sample_rate_hz];
  ++channels[std::ssize(recording->all_channels())];
  for (const AudioSource& source : recording->sources) ++formats[format_of(source)];
}

SetInspector::SetInspector(BatchSpec spec, const Tokenizer& tokenizer, const BucketOptions& buckets)
    : spec_(std::move(spec)), tokenizer_(tokenizer), buckets_(buckets) {}

SpeakerReport& SetInspector::speaker_of(const std::string& name) {
  const auto [known, is_new] = speaker_index_.emplace(name, report_.speakers.size());
  if (!is_new) return report_.speakers[known->second];
  const bool is_user = contains(spec_.data.input_roles, name);
  const bool is_agent = contains(spec_.data.output_roles, name);
  report_.speakers.push_back({name, is_agent ? "agent" : is_user ? "user" : "none", 0, 0, 0, 0});
  return report_.speakers.back();
}

void SetInspector::add_long_text(const Cut& cut, const Supervision& turn, const std::string& role) {
  if (role != "agent" || !turn.text || report_.long_texts.size() >= kMaxListed) return;
  const std::string text = clean_text(*turn.text);
  const int64_t rate_hz = spec_.frames_rate_hz > 0 ? spec_.frames_rate_hz : cut.sample_rate_hz();
  if (rate_hz <= 0) return;
  const auto tokens = static_cast<int64_t>(tokenizer_.encode(text).size()) + 1;
  const double frame_s = spec_.data.frame_length;
  const int64_t frames = compute_num_frames(turn.end_s(), frame_s, rate_hz) -
                         compute_num_frames(turn.start_s, frame_s, rate_hz);
  if (tokens <= frames) return;
  report_.long_texts.push_back(
      {fmt::format("{}, turn '{}'", cut.place(), turn.id), turn.speaker, text, tokens, frames});
}

void SetInspector::add_turns(const Cut& cut) {
  for (const Supervision& turn : cut.supervisions) {
    SpeakerReport& speaker = speaker_of(turn.speaker);
    ++speaker.turns;
    count_words(turn.text.value_or(""), tokenizer_, speaker);
    speaker.hours += turn.duration_s / 3600;
    add_long_text(cut, turn, speaker.role);
  }
}

void SetInspector::add_gaps(const Cut& cut) {
  std::vector<const Supervision*> turns;
  for (const Supervision& turn : cut.supervisions) turns.push_back(&turn);
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto* a, const auto* b) { return a->start_s < b->start_s; });
  for (size_t i = 1; i < turns.size(); ++i) {
    if (turns[i]->speaker == turns[i - 1]->speaker) continue;
    const double gap_s = turns[i]->start_s - turns[i - 1]->end_s();
    if (gap_s >= 0) {
      report_.gaps.add(gap_s);
    } else {
      report_.overlaps.add(-gap_s);
    }
  }
}

void SetInspector::check(const Cut& cut) {
  Findings findings;
  if (is_endless(cut)) findings.add(cuts_errors::endless(cut));
  check_duplex_cut(cut, spec_.data, /*allow_no_turns=*/false, findings);
  report_.num_unsuitable += findings.empty() ? 0 : 1;
  for (const Error& error : findings.errors()) {
    if (report_.unsuitable.size() < kMaxListed) report_.unsuitable.emplace_back(error.what());
  }
}

void SetInspector::check_id(const Cut& cut) {
  if (line_of_id_.size() >= kMaxIds) return;
  if (manifests_.empty() || manifests_.back() != cut.manifest) manifests_.push_back(cut.manifest);
  const Line line{static_cast<uint32_t>(manifests_.size() - 1), cut.line};
  const auto [same, is_new] = line_of_id_.emplace(fnv1a(cut.id), line);
  if (is_new) return;
  const Line& first = same->second;
  if (report_.num_duplicate_ids++ > 0) return;
  report_.first_duplicate_id =
      cuts_errors::duplicate_id(cut.place(),
                                fmt::format("{}:{}", manifests_[first.manifest], first.number))
          .what();
}

void SetInspector::add(const Cut& cut) {
  ++report_.num_cuts;
  report_.hours += cut.duration_s / 3600;
  report_.durations.add(cut.duration_s);
  report_.user_audio.add(cut.recording ? &*cut.recording : nullptr);
  report_.agent_audio.add(cut.find_recording("target_audio"));
  buckets_.add(cut.duration_s);
  add_turns(cut);
  add_gaps(cut);
  check(cut);
  if (!is_endless(cut) && (spec_.frames_rate_hz > 0 || cut.sample_rate_hz() > 0)) {
    const SequenceText text = make_sequence_text({{{&cut, 0}}, 0}, spec_, tokenizer_);
    report_.agent_text += text.target_counts;
    report_.user_text += text.source_counts;
  }
  check_id(cut);
}

SetReport SetInspector::report() const {
  SetReport report = report_;
  report.buckets = buckets_.report();
  return report;
}

double BucketReport::padding_share() const {
  double hours = 0;
  double padded = 0;
  for (const BucketLine& line : lines) {
    hours += line.hours;
    padded += line.padded_hours;
  }
  return padded > 0 ? 1 - hours / padded : 0;
}

BucketInspector::BucketInspector(BucketOptions options)
    : options_(std::move(options)), has_bins_(!options_.bins.empty()) {
  BatchLimits limits = options_.limits;
  if (!options_.batch_sizes.empty()) limits.max_cuts = options_.batch_sizes.back();
  unsorted_.limits = std::make_shared<const BatchLimits>(limits);
}

void BucketInspector::begin() {
  has_begun_ = true;
  if (options_.bins.empty() && !first_.empty()) {
    const auto buckets = std::min<int64_t>(options_.num_buckets, std::ssize(first_));
    if (buckets > 1) options_.bins = estimate_bins(first_, buckets);
  }
  buckets_.resize(options_.bins.size() + 1);
  for (size_t i = 0; i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    BatchLimits limits = options_.limits;
    if (!options_.batch_sizes.empty()) {
      limits = {};
      limits.max_cuts = options_.batch_sizes[std::min(i, options_.batch_sizes.size() - 1)];
    }
    bucket.limits = std::make_shared<const BatchLimits>(limits);
    if (!options_.bins.empty()) {
      bucket.line.upper_s = options_.bins[std::min(i, options_.bins.size() - 1)];
    }
  }
  for (const double duration_s : std::exchange(first_, {})) add(duration_s);
}

void BucketInspector::add(double duration_s) {
  if (!has_begun_ && options_.bins.empty() && std::ssize(first_) < options_.num_cuts_for_bins) {
    first_.push_back(duration_s);
    return;
  }
  if (!has_begun_) begin();
  const auto bound = std::lower_bound(options_.bins.begin(), options_.bins.end(), duration_s);
  add_to(buckets_[static_cast<size_t>(bound - options_.bins.begin())], duration_s);
  add_to(unsorted_, duration_s);
}

void BucketInspector::close(Bucket& bucket) {
  if (!bucket.open) return;
  ++bucket.line.batches;
  bucket.line.padded_hours +=
      static_cast<double>(bucket.open->count.num_cuts()) * bucket.open->longest_s / 3600;
  bucket.open.reset();
}

/// As in lhotse's samplers, a batch ends before the cut that would exceed its limits.
void BucketInspector::add_to(Bucket& bucket, double duration_s) const {
  BucketLine& line = bucket.line;
  ++line.cuts;
  line.hours += duration_s / 3600;
  line.upper_s = std::max(line.upper_s, duration_s);
  if (bucket.open) {
    BatchCount with_it = bucket.open->count;
    with_it.add(duration_s);
    if (with_it.exceeded()) close(bucket);
  }
  if (!bucket.open) bucket.open.emplace(*bucket.limits);
  bucket.open->count.add(duration_s);
  bucket.open->longest_s = std::max(bucket.open->longest_s, duration_s);
  if (bucket.open->count.close_to_exceeding()) close(bucket);
}

BucketReport BucketInspector::report() const {
  BucketInspector copy = *this;
  if (!copy.has_begun_) copy.begin();
  BucketReport report;
  report.bins = copy.options_.bins;
  report.are_estimated = !has_bins_;
  for (Bucket& bucket : copy.buckets_) {
    close(bucket);
    report.lines.push_back(bucket.line);
  }
  close(copy.unsorted_);
  const BucketLine& unsorted = copy.unsorted_.line;
  if (unsorted.padded_hours > 0) {
    report.unsorted_padding_share = 1 - unsorted.hours / unsorted.padded_hours;
  }
  return report;
}

}  // namespace s2s::data
