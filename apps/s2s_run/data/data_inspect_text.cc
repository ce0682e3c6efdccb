#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "s2s/foreign_text.h"
#include "s2s_run/columns.h"
#include "s2s_run/data/data_inspect_result.h"

namespace s2s::run {
namespace {

/// Maximum number of problems and speakers to print; JSON has more.
constexpr size_t kMaxShownTexts = 20;

void print_histogram(const char* title, const data::Histogram& histogram) {
  int64_t most = 1;
  for (const int64_t count : histogram.counts) most = std::max(most, count);
  std::printf("\n%s (%lld)\n", title, static_cast<long long>(histogram.total()));
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const auto length = static_cast<size_t>((40 * histogram.counts[i] + most - 1) / most);
    std::printf("  %12s %8lld %s\n", bin_label(histogram, i).c_str(),
                static_cast<long long>(histogram.counts[i]), std::string(length, '#').c_str());
  }
}

void print_text_counts(const char* role, const TokenChannelCounts& counts) {
  fmt::print(
      "  {}: {} of {} turns have text longer than the turn; {} tokens overwritten, {} dropped, {} "
      "cut off, {} turns skipped, {} without EOS\n",
      role, counts.long_turns, counts.turns, counts.overwritten_tokens, counts.dropped_tokens,
      counts.truncated_tokens, counts.skipped_turns, counts.open_turns);
}

void print_audio(const InspectResult& result) {
  const auto count = [&](const char* kind) {
    const auto it = result.problem_counts.find(kind);
    return it == result.problem_counts.end() ? int64_t{0} : it->second;
  };
  fmt::print("\naudio: {} unreadable, {} silent, {} clipped", count("unreadable"), count("silent"),
             count("clipped"));
  if (count("command") > 0) fmt::print(", {} are commands and were not run", count("command"));
  if (result.cuts_heard < result.report.num_cuts)
    fmt::print(" of {}", counted(result.cuts_heard, "cut"));
  fmt::print("\n");
  for (size_t i = 0; i < result.problems.size() && i < kMaxShownTexts; ++i) {
    const data::AudioProblem& problem = result.problems[i];
    fmt::print("  {} ({} of {}){}{}\n", problem.kind, problem.which, printable_name(problem.cut),
               problem.detail.empty() ? "" : ": ", printable(problem.detail));
  }
  if (result.problems.size() > kMaxShownTexts) {
    fmt::print("  and {} more; --json lists them\n", result.problems.size() - kMaxShownTexts);
  }
  if (count("clipped") > 0) {
    fmt::print(
        "  clipped: three or more samples in a row at full scale, which distorts speech; record "
        "with less gain,\n"
        "  or remove cuts where it exceeds 0.1 %\n");
  }
  if (result.turns.cuts_judged > 0) {
    fmt::print("turns: they match the speech in {} of {} that could be checked\n",
               result.turns.cuts_that_fit, counted(result.turns.cuts_judged, "cut"));
  }
}

void print_speakers(const data::SetReport& report) {
  std::vector<std::vector<std::string>> table = {{"SPEAKER", "ROLE", "TURNS", "WORDS", "HOURS"}};
  for (size_t i = 0; i < report.speakers.size() && i < kMaxShownTexts; ++i) {
    const data::SpeakerReport& speaker = report.speakers[i];
    table.push_back({speaker.speaker, speaker.role, std::to_string(speaker.turns),
                     std::to_string(speaker.words), fmt::format("{:.2f}", speaker.hours)});
  }
  print_columns(table);
  if (report.speakers.size() > kMaxShownTexts) {
    fmt::print("and {} more speakers\n", report.speakers.size() - kMaxShownTexts);
  }
}

template <class Map>
std::string listed(const Map& counts, const char* unit) {
  std::string text;
  for (const auto& [key, count] : counts) {
    text += fmt::format("{}{}{} ({})", text.empty() ? "" : ", ", key, unit, count);
  }
  return text;
}

void print_recordings(const char* role, const data::RecordingKinds& kinds) {
  fmt::print("  {:<5} {}; channels: {}; {}", role, listed(kinds.sample_rates, " Hz"),
             listed(kinds.channels, ""), listed(kinds.formats, ""));
  if (kinds.missing > 0) fmt::print("; {} without", counted(kinds.missing, "cut"));
  fmt::print("\n");
}

std::string limits_text(const data::BatchLimits& limits) {
  std::string text;
  if (limits.max_length) text += fmt::format("{:g} s", *limits.max_length);
  if (limits.max_cuts)
    text += fmt::format("{}{}", text.empty() ? "" : " or ", counted(*limits.max_cuts, "cut"));
  if (limits.quadratic_length) text += fmt::format(", quadratic {:g} s", *limits.quadratic_length);
  return text;
}

void print_buckets(const InspectResult& result) {
  const data::BucketReport& buckets = result.report.buckets;
  std::vector<std::vector<std::string>> table = {
      {"  UP TO", "CUTS", "HOURS", "BATCHES", "CUTS EACH", "PADDING"}};
  double before_s = -1;
  for (const data::BucketLine& line : buckets.lines) {
    // Bounds estimated from few durations may be equal.
    const bool is_repeated = line.cuts == 0 && line.upper_s == before_s;
    before_s = line.upper_s;
    if (is_repeated) continue;
    const double each =
        line.batches > 0 ? static_cast<double>(line.cuts) / static_cast<double>(line.batches) : 0;
    const double padding = line.padded_hours > 0 ? 100 * (1 - line.hours / line.padded_hours) : 0;
    table.push_back({fmt::format("{:>7.2f}", line.upper_s), std::to_string(line.cuts),
                     fmt::format("{:.2f}", line.hours), std::to_string(line.batches),
                     fmt::format("{:.1f}", each), fmt::format("{:.1f} %", padding)});
  }
  fmt::print("\n{}{}, batches of {}\n", counted(static_cast<int64_t>(table.size()) - 1, "bucket"),
             buckets.are_estimated ? " (estimated)" : "", limits_text(result.limits));
  print_columns(table);
  fmt::print("  padding: {:.1f} % in buckets, {:.1f} % without\n", 100 * buckets.padding_share(),
             100 * buckets.unsorted_padding_share);
}

void print_drawn(const DrawnBatches& drawn) {
  fmt::print("\nthe first {} batch{} of the run: {}, {:.2f} h, padding {:.1f} %\n", drawn.batches,
             drawn.batches == 1 ? "" : "es", counted(drawn.cuts, "cut"), drawn.hours,
             100 * (1 - drawn.hours / drawn.padded_hours));
  if (drawn.by_bucket.size() > 1) {
    fmt::print("  batches by bucket: {}\n", listed(drawn.by_bucket, ""));
  }
}

void print_texts(const InspectResult& result) {
  const data::SetReport& report = result.report;
  fmt::print("\ntext on frames of {:g} s, {}\n", result.spec.data.frame_length,
             result.tokenizer.empty()
                 ? "one token per word (give your tokenizer with --tokenizer PATH)"
                 : result.tokenizer);
  print_text_counts("agent", report.agent_text);
  print_text_counts("user", report.user_text);
  for (size_t i = 0; i < report.long_texts.size() && i < 5; ++i) {
    const data::LongText& text = report.long_texts[i];
    fmt::print(
        "  {} tokens on {} frames: {}: {}\n", text.tokens, text.frames, printable_name(text.turn),
        printable_name(text.text.size() > 60 ? fmt::format("{:.57}...", text.text) : text.text));
  }
  for (const auto& speaker : report.speakers) {
    if (speaker.unknown_words == 0) continue;
    fmt::print("  {}: {} of {} words are unknown to the tokenizer and would become silence\n",
               printable_name(speaker.speaker), speaker.unknown_words, speaker.words);
  }
}

}  // namespace

std::string bin_label(const data::Histogram& histogram, size_t bin) {
  const bool last = bin + 1 == histogram.edges.size();
  return last ? fmt::format("{}+ s", histogram.edges[bin])
              : fmt::format("{}-{} s", histogram.edges[bin], histogram.edges[bin + 1]);
}

void print_inspect_text(const InspectResult& result) {
  const data::SetReport& report = result.report;
  fmt::print("{}, {:.2f} h{}\n\n", counted(report.num_cuts, "cut"), report.hours,
             result.stopped      ? " (partial: stopped)"
             : result.is_limited ? " (partial: --limit)"
                                 : "");
  print_speakers(report);
  print_histogram("duration of cuts", report.durations);
  print_histogram("gap between two speakers' turns", report.gaps);
  print_histogram("overlap of two speakers' turns", report.overlaps);
  fmt::print("\nrecordings\n");
  print_recordings("user", report.user_audio);
  print_recordings("agent", report.agent_audio);
  print_buckets(result);
  if (result.drawn.batches > 0) print_drawn(result.drawn);
  print_texts(result);
  if (result.audio_read) print_audio(result);
  if (report.num_unsuitable > 0) {
    fmt::print("\nnot suitable: {}\n", counted(report.num_unsuitable, "cut"));
  }
  for (const std::string& text : report.unsuitable)
    fmt::print("\nnot suitable: {}\n", printable(text));
  for (const std::string& text : result.warnings) fmt::print("\nwarning: {}\n", printable(text));
}

}  // namespace s2s::run
