#include "data/inspect.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace s2s::data {
namespace {

/// Counts words, and those that become nothing but silence.
void count_words(const std::string& text, const Tokenizer& tokenizer, SpeakerReport& speaker) {
  std::istringstream words(text);
  const int64_t pad = tokenizer.special_ids().pad;
  for (std::string word; words >> word;) {
    const std::vector<int64_t> ids = tokenizer.encode(word);
    ++speaker.words;
    speaker.unknown_words += std::find(ids.begin(), ids.end(), pad) != ids.end() ? 1 : 0;
  }
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

SpeakerReport& speaker_of(const std::string& name, const DuplexDataOptions& data,
                          std::vector<SpeakerReport>& speakers) {
  for (SpeakerReport& speaker : speakers) {
    if (speaker.speaker == name) return speaker;
  }
  const bool is_user = contains(data.input_roles, name);
  const bool is_agent = contains(data.output_roles, name);
  speakers.push_back({name, is_agent ? "agent" : is_user ? "user" : "none", 0, 0, 0, 0});
  return speakers.back();
}

void add_turns(const Cut& cut, const DuplexDataOptions& data, const Tokenizer& tokenizer,
               SetReport& report) {
  std::vector<const Supervision*> turns;
  for (const Supervision& turn : cut.supervisions) {
    SpeakerReport& speaker = speaker_of(turn.speaker, data, report.speakers);
    ++speaker.turns;
    count_words(turn.text.value_or(""), tokenizer, speaker);
    speaker.hours += turn.duration_s / 3600;
    turns.push_back(&turn);
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto* a, const auto* b) { return a->start_s < b->start_s; });
  for (size_t i = 1; i < turns.size(); ++i) {
    if (turns[i]->speaker == turns[i - 1]->speaker) continue;
    const double gap_s = turns[i]->start_s - turns[i - 1]->end_s();
    if (gap_s >= 0) {
      report.gaps.add(gap_s);
    } else {
      report.overlaps.add(-gap_s);
    }
  }
}

}  // namespace

Histogram::Histogram(std::vector<double> lower_edges)
    : edges(std::move(lower_edges)), counts(edges.size(), 0) {}

void Histogram::add(double value) {
  const auto above = std::upper_bound(edges.begin(), edges.end(), value);
  ++counts[static_cast<size_t>(std::max<std::ptrdiff_t>(0, above - edges.begin() - 1))];
}

SetReport inspect_cuts(const std::vector<Cut>& cuts, const BatchSpec& spec,
                       const Tokenizer& tokenizer) {
  SetReport report;
  report.num_cuts = static_cast<int64_t>(cuts.size());
  for (const Cut& cut : cuts) {
    report.hours += cut.duration_s / 3600;
    report.durations.add(cut.duration_s);
    add_turns(cut, spec.data, tokenizer, report);
    const SequenceText text = make_sequence_text({{{&cut, 0}}, 0}, spec, tokenizer);
    report.agent_text += text.target_counts;
    report.user_text += text.source_counts;
  }
  Findings findings;
  check_duplex_cuts(cuts, spec.data, /*allow_no_turns=*/false, /*check_files=*/false, findings);
  for (const Error& error : findings.errors()) report.unsuitable.emplace_back(error.what());
  return report;
}

}  // namespace s2s::data
