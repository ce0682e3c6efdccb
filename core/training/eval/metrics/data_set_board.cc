#include "eval/metrics/data_set_board.h"

namespace s2s {

namespace {

using Better = ScoreTable::Better;
using Cell = std::optional<double>;

/// The order of kTextSources, with the answer first because it matters most.
constexpr std::array kColumns = {TextSource::kModelAudio, TextSource::kTextChannel,
                                 TextSource::kRoundTripAudio, TextSource::kReferenceAudio};

struct TextRow {
  const char* label;
  const char* hint;
  const char* unit;
  Better better;
  double (*value)(const TextScores&);
};

// clang-format off
constexpr TextRow kTextRows[] = {
    {"BLEU", "n-grams shared with the reference text; on audio this is ASR-BLEU", "",
     Better::kHigher, [](const TextScores& s) { return s.bleu.score; }},
    {"word errors", "wrong, missing and extra words per reference word", "%",
     Better::kLower, [](const TextScores& s) { return s.words.rate(); }},
    {"character errors", "the same, letter by letter", "%",
     Better::kLower, [](const TextScores& s) { return s.characters.rate(); }},
    {"entirely right", "answers without any wrong word", "%",
     Better::kHigher, [](const TextScores& s) { return s.exact_rate(); }},
};
// clang-format on

struct TurnRow {
  const char* label;
  const char* hint;
  const char* unit;
  Better better;
  Cell DuplexScores::*value;
  const char* name;  // name of the value in metrics; "": shown in the table only
};

// clang-format off
constexpr TurnRow kTurnRows[] = {
    {"takes the turn", "user turns that were answered in time", "%",
     Better::kHigher, &DuplexScores::takeover_rate, "takeover_rate"},
    {"latency, median", "from the user's last word to the agent's first", "s",
     Better::kLower, &DuplexScores::latency_median_s, "latency_median_s"},
    {"latency, 90th percentile", "nine of ten answers begin within this", "s",
     Better::kLower, &DuplexScores::latency_p90_s, "latency_p90_s"},
    {"begins too early", "answers that begin before the user ends", "%",
     Better::kLower, &DuplexScores::latency_negative_share, ""},
    {"speaks in a pause", "pauses of the user in which the agent began to speak", "%",
     Better::kLower, &DuplexScores::pause_rate, "pause_rate"},
    {"stops when interrupted", "interruptions after which the agent was soon silent", "%",
     Better::kHigher, &DuplexScores::stop_rate, "stop_rate"},
    {"time to stop, median", "from the interruption to the agent's silence", "s",
     Better::kLower, &DuplexScores::stop_latency_median_s, "stop_latency_median_s"},
    {"false starts", "quiet stretches in which the agent spoke unasked", "%",
     Better::kLower, &DuplexScores::false_start_rate, "false_start_rate"},
    {"agent speaks", "share of the time", "%",
     Better::kNeither, &DuplexScores::agent_speech_ratio, "agent_speech_ratio"},
    {"both speak", "share of the time", "%",
     Better::kNeither, &DuplexScores::overlap_ratio, ""},
};
// clang-format on

/// The sets of questions with answers separated by semicolons.
/// Source: NeMo speechlm2 parts/metrics/results_logger.py.
bool has_questions(const std::string& set) {
  return set == "web-qa" || set == "llama-qa" || set == "trivia-qa";
}

bool has_any(const std::vector<Cell>& cells) {
  return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.has_value(); });
}

}  // namespace

DataSetBoard::DataSetBoard(std::string name, const std::vector<NamedMetric>& metrics)
    : name_(std::move(name)) {
  for (MetricBoard& board : metrics_) board = MetricBoard(metrics);
}

void DataSetBoard::add(const ReportExample& example, const ExampleMeasures& measures) {
  ++num_examples_;
  texts_.add(example.texts);
  if (example.texts.text_channel &&
      names_answer(example.texts.reference, *example.texts.text_channel)) {
    ++num_named_;
  }
  for (const TextSource source : kTextSources) {
    const std::optional<std::string>& text = text_of(example.texts, source);
    if (text) metrics_[static_cast<size_t>(source)].add(*text, example.texts.reference);
  }
  if (measures.answer) answer_ += measures.answer->turn_taking;
  if (measures.reference) reference_ += measures.reference->turn_taking;
  if (measures.round_trip) round_trip_ += measures.round_trip->turn_taking;
}

ScoreTable DataSetBoard::table() const {
  ScoreTable table;
  table.title = name_;
  table.columns = {"answer", "text channel", "codec round trip", "reference"};
  for (const TextRow& row : kTextRows) {
    std::vector<Cell> cells;
    for (const TextSource source : kColumns) {
      const TextScores scores = texts_.scores(source);
      const double value = row.value(scores);
      const bool known = scores.num_examples > 0 && !std::isnan(value);
      cells.push_back(known ? Cell(value) : Cell());
    }
    if (has_any(cells)) table.rows.push_back({row.label, row.hint, row.unit, row.better, cells});
  }
  add_user_text(table);
  add_metrics(table);
  const DuplexScores answer = duplex_scores(answer_);
  const DuplexScores round_trip = duplex_scores(round_trip_);
  const DuplexScores reference = duplex_scores(reference_);
  for (const TurnRow& row : kTurnRows) {
    const std::vector<Cell> cells = {
        answer.*row.value, {}, round_trip.*row.value, reference.*row.value};
    if (has_any(cells)) table.rows.push_back({row.label, row.hint, row.unit, row.better, cells});
  }
  return table;
}

void DataSetBoard::add_user_text(ScoreTable& table) const {
  const TextScores scores = texts_.user_scores();
  if (scores.num_examples == 0) return;
  const auto row = [&table](const char* label, const char* hint, const char* unit, Better better,
                            double value) {
    if (!std::isnan(value)) table.rows.push_back({label, hint, unit, better, {{}, value, {}, {}}});
  };
  row("user's words, BLEU", "n-grams of the user's text channel shared with the user's words", "",
      Better::kHigher, scores.bleu.score);
  row("user's words, errors", "wrong, missing and extra words per word of the user", "%",
      Better::kLower, scores.words.rate());
}

void DataSetBoard::add_metrics(ScoreTable& table) const {
  std::map<std::string, std::vector<Cell>> rows;
  for (size_t column = 0; column < kColumns.size(); ++column) {
    const MetricBoard& board = metrics_[static_cast<size_t>(kColumns[column])];
    for (const auto& [name, value] : board.values()) {
      auto& cells = rows.try_emplace(name, kColumns.size()).first->second;
      if (!std::isnan(value)) cells[column] = value;
    }
  }
  for (const auto& [name, cells] : rows) {
    if (has_any(cells)) table.rows.push_back({name, "a metric of a plugin", "", {}, cells});
  }
}

std::map<std::string, double> DataSetBoard::numbers() const {
  std::map<std::string, double> out;
  const auto put = [&](const std::string& name, const Cell& value) {
    if (value && !std::isnan(*value)) out[name] = *value;
  };
  for (const auto& [source, kind, of] : {std::tuple{TextSource::kTextChannel, "txt_", ""},
                                         {TextSource::kModelAudio, "asr_", ""},
                                         {TextSource::kReferenceAudio, "asr_", "_reference"},
                                         {TextSource::kRoundTripAudio, "asr_", "_round_trip"}}) {
    const TextScores scores = texts_.scores(source);
    if (scores.num_examples == 0) continue;
    put(std::string(kind) + "bleu" + of, scores.bleu.score);
    put(std::string(kind) + "wer" + of, scores.words.rate());
    put(std::string(kind) + "cer" + of, scores.characters.rate());
    put(std::string(kind) + "exact" + of, scores.exact_rate());
    for (const auto& [name, value] : metrics_[static_cast<size_t>(source)].values()) {
      put(kind + name + of, value);
    }
  }
  const TextScores user = texts_.user_scores();
  if (user.num_examples > 0) {
    put("src_txt_bleu", user.bleu.score);
    put("src_wer", user.words.rate());
  }
  if (has_questions(name_) && num_examples_ > 0) {
    put("acc", static_cast<double>(num_named_) / static_cast<double>(num_examples_));
  }
  const DuplexScores turns = duplex_scores(answer_);
  for (const TurnRow& row : kTurnRows) {
    if (*row.name != '\0') put(row.name, turns.*row.value);
  }
  return out;
}

nlohmann::ordered_json DataSetBoard::to_json() const {
  nlohmann::ordered_json out = {{"examples", num_examples_}, {"texts", texts_.to_json()}};
  if (answer_.duration_s > 0) out["turn_taking"]["model"] = s2s::to_json(answer_);
  if (reference_.duration_s > 0) out["turn_taking"]["reference"] = s2s::to_json(reference_);
  if (round_trip_.duration_s > 0) out["turn_taking"]["round_trip"] = s2s::to_json(round_trip_);
  return out;
}

}  // namespace s2s
