#include "eval/report/report_json.h"

namespace s2s {

namespace {

using Json = nlohmann::ordered_json;

/// Precise enough for seconds and rates, at half the size of full precision.
double rounded(double value) { return std::round(value * 1e4) / 1e4; }

Json json_of(const std::vector<SpeechSegment>& segments) {
  Json out = Json::array();
  for (const SpeechSegment& s : segments) out.push_back({rounded(s.start_s), rounded(s.end_s)});
  return out;
}

Json json_of(const std::vector<TokenMark>& tokens) {
  Json out = Json::array();
  for (const TokenMark& token : tokens) {
    const char* kind = token.kind == TokenMark::Kind::kBos   ? "bos"
                       : token.kind == TokenMark::Kind::kEos ? "eos"
                                                             : "text";
    out.push_back({token.frame, kind, token.text});
  }
  return out;
}

Json json_of(const std::vector<Turn>& turns) {
  Json out = Json::array();
  for (const Turn& turn : turns) {
    out.push_back({{"agent", turn.is_agent},
                   {"start", rounded(turn.start_s)},
                   {"end", rounded(turn.end_s)},
                   {"text", turn.text}});
  }
  return out;
}

Json finite_or_null(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

Json json_of(const TextMeasure& measure, const std::string& raw) {
  constexpr const char* kKinds = "=sdi";  // in the order of EditKind
  Json edits = Json::array();
  for (const WordEdit& edit : measure.alignment) {
    edits.push_back(
        {std::string(1, kKinds[static_cast<size_t>(edit.kind)]), edit.reference, edit.hypothesis});
  }
  return {{"raw", raw},
          {"edits", edits},
          {"wer", finite_or_null(measure.words.rate())},
          {"errors", measure.words.errors()},
          {"bleu", rounded(measure.bleu)}};
}

Json texts_json(const ReportExample& example, const ExampleMeasures& measures) {
  Json out = Json::object();
  for (const TextSource source : kTextSources) {
    const auto& measure = measures.text(source);
    if (measure) out[name_of(source)] = json_of(*measure, *text_of(example.texts, source));
  }
  return out;
}

/// Returns [[start, length], ...].
Json pairs(const std::vector<double>& times_s, const std::vector<double>& lengths_s) {
  Json out = Json::array();
  for (size_t i = 0; i < times_s.size(); ++i) {
    out.push_back({rounded(times_s[i]), rounded(lengths_s[i])});
  }
  return out;
}

void add_turn_taking(const ExampleMeasures& measures, Json& out) {
  if (!measures.turn_taking) return;
  const DuplexCounts& counts = *measures.turn_taking;
  out["turn_ends"] = counts.turn_ends;
  out["takeovers"] = counts.takeovers;
  out["answers"] = pairs(counts.onsets_s, counts.latencies_s);
  out["stops"] = pairs(counts.interrupted_at_s, counts.stop_latencies_s);
}

const char* better_name(ScoreTable::Better better) {
  switch (better) {
    case ScoreTable::Better::kHigher:
      return "higher";
    case ScoreTable::Better::kLower:
      return "lower";
    default:
      return "";
  }
}

/// The problems of an example, for the table's filter: "wrong words", "no answer", "late", ...
std::vector<std::string> findings_of(const ExampleMeasures& measures) {
  std::vector<std::string> out;
  const auto& spoken = measures.text(TextSource::kModelAudio);
  const auto& written = measures.text(TextSource::kTextChannel);
  if (spoken ? spoken->words.errors() > 0 : written && written->words.errors() > 0) {
    out.emplace_back("wrong words");
  }
  if (spoken && written && spoken->words.errors() > 0 && written->words.errors() == 0) {
    out.emplace_back("wrong in audio only");
  }
  if (!measures.turn_taking) return out;
  const DuplexCounts& turns = *measures.turn_taking;
  const auto num_answers = static_cast<int64_t>(turns.latencies_s.size());
  if (num_answers < turns.turn_ends) out.emplace_back("no answer");
  if (turns.takeovers < num_answers) out.emplace_back("late or early");
  if (turns.pauses_spoken > 0) out.emplace_back("spoke in a pause");
  if (turns.interruptions_stopped < turns.interruptions) out.emplace_back("talked on");
  if (turns.false_starts > 0) out.emplace_back("false start");
  return out;
}

}  // namespace

Json example_json(const ReportExample& example, const ExampleMeasures& measures) {
  Json out = {{"id", example.id},
              {"set", example.data_set},
              {"duration", rounded(measures.speech.duration_s)},
              {"turns", json_of(example.turns)},
              {"reference", example.texts.reference},
              {"texts", texts_json(example, measures)},
              {"findings", findings_of(measures)}};
  const ExampleSpeech& speech = measures.speech;
  out["speech"]["user"] = json_of(speech.user);
  if (speech.answer) out["speech"]["answer"] = json_of(*speech.answer);
  if (speech.reference) out["speech"]["reference"] = json_of(*speech.reference);
  if (speech.round_trip) out["speech"]["round_trip"] = json_of(*speech.round_trip);
  out["tokens"]["answer"] = json_of(example.answer_tokens);
  out["tokens"]["reference"] = json_of(example.reference_tokens);
  add_turn_taking(measures, out);
  for (const auto& [name, value] : example.numbers) out["numbers"][name] = finite_or_null(value);
  return out;
}

Json table_json(const ScoreTable& table) {
  Json rows = Json::array();
  for (const ScoreTable::Row& row : table.rows) {
    Json cells = Json::array();
    for (const auto& cell : row.cells) cells.push_back(cell ? finite_or_null(*cell) : Json());
    rows.push_back({{"label", row.label},
                    {"hint", row.hint},
                    {"unit", row.unit},
                    {"better", better_name(row.better)},
                    {"cells", cells}});
  }
  return {{"title", table.title}, {"columns", table.columns}, {"rows", rows}};
}

Json curve_json(const Curve& curve) {
  return {{"name", curve.name},
          {"validation", curve.validation},
          {"steps", curve.steps},
          {"values", curve.values}};
}

Json prediction_json(const ReportExample& example, const ExampleMeasures& measures,
                     const Json& voices, const std::map<std::string, std::string>& files) {
  Json out = {
      {"id", example.id}, {"data_set", example.data_set}, {"reference", example.texts.reference}};
  for (const TextSource source : kTextSources) {
    const auto& text = text_of(example.texts, source);
    if (!text) continue;
    const char* name = name_of(source);
    out[source == TextSource::kTextChannel ? name : std::string("heard_") + name] = *text;
    out["wer"][name] = finite_or_null(measures.text(source)->words.rate());
    out["bleu"][name] = measures.text(source)->bleu;
  }
  out.update(voices);
  if (measures.turn_taking) out["latencies_s"] = measures.turn_taking->latencies_s;
  for (const auto& [name, value] : example.numbers) out["numbers"][name] = finite_or_null(value);
  out["files"] = files;
  return out;
}

std::string html_safe(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    // "</script>" and "<!--" end or change a script element at any position in it.
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace s2s
