// s2s-run score: scores of what any system said, from files of texts alone.

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "s2s_run/columns.h"
#include "s2s_run/score/text_statistics.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using Json = nlohmann::ordered_json;

struct ScoreArguments {
  std::vector<std::string> files;
  std::string hypothesis, reference;
  std::string normalizer = "english";
  int64_t samples = 1000;
  int64_t seed = 12345;
};

/// One file of predictions with its scores.
struct System {
  Predictions predictions;
  std::vector<TextSums> examples;
  TextSums sum;
  TextValues values{};
  std::vector<TextValues> samples;
};

System scored(const ScoreArguments& arguments, Predictions predictions) {
  System system{std::move(predictions), {}, {}, {}, {}};
  system.examples = text_sums(system.predictions, arguments.normalizer);
  system.sum = sum_of(system.examples);
  system.values = values_of(system.sum);
  system.samples =
      bootstrap(system.examples, arguments.samples, static_cast<uint64_t>(arguments.seed));
  return system;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json counts_json(const ErrorCounts& counts) {
  return {{"substitutions", counts.substitutions},
          {"deletions", counts.deletions},
          {"insertions", counts.insertions},
          {"reference_length", counts.reference_length}};
}

Json system_json(const System& system) {
  Json scores = Json::object();
  for (size_t i = 0; i < kTextScores.size(); ++i) {
    Json& score = scores[kTextScores[i].name];
    score["value"] = finite(system.values[i]);
    if (system.samples.empty()) continue;
    const Interval interval = interval_of(system.samples, i);
    score["low"] = finite(interval.low);
    score["high"] = finite(interval.high);
  }
  scores["wer"].update(counts_json(system.sum.words));
  scores["cer"].update(counts_json(system.sum.characters));
  return {{"file", system.predictions.path},
          {"hypothesis", system.predictions.hypothesis_key},
          {"reference", system.predictions.reference_key},
          {"examples", system.examples.size()},
          {"scores", scores}};
}

Json comparison_json(const System& first, const System& other) {
  Json scores = Json::object();
  for (size_t i = 0; i < kTextScores.size(); ++i) {
    const double difference = other.values[i] - first.values[i];
    Json& score = scores[kTextScores[i].name];
    score["difference"] = finite(difference);
    if (!first.samples.empty() && std::isfinite(difference)) {
      score["p_value"] = finite(p_value(first.samples, other.samples, i, difference));
    }
  }
  return {
      {"baseline", first.predictions.path}, {"system", other.predictions.path}, {"scores", scores}};
}

std::string shown(double value, bool is_share) {
  if (!std::isfinite(value)) return "-";
  return is_share ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.2f}", value);
}

void print(const std::vector<System>& systems) {
  for (const System& system : systems) {
    const Predictions& file = system.predictions;
    const std::string count = counted(static_cast<int64_t>(system.examples.size()), "example");
    std::cout << fmt::format("{}: {}, {} against {}\n", file.path, count, file.hypothesis_key,
                             file.reference_key);
  }
  std::vector<std::vector<std::string>> rows = {{"file", "score", "value", "95 % interval"}};
  if (systems.size() > 1) rows[0].insert(rows[0].end(), {"difference", "p"});
  for (const System& system : systems) {
    for (size_t i = 0; i < kTextScores.size(); ++i) {
      const bool is_share = kTextScores[i].is_share;
      std::vector<std::string> row = {i == 0 ? system.predictions.path : "", kTextScores[i].name,
                                      shown(system.values[i], is_share), "-"};
      if (!system.samples.empty()) {
        const Interval interval = interval_of(system.samples, i);
        row[3] = shown(interval.low, is_share) + " to " + shown(interval.high, is_share);
      }
      const double difference = system.values[i] - systems[0].values[i];
      if (&system != &systems[0] && std::isfinite(difference)) {
        row.push_back((difference > 0 ? "+" : "") + shown(difference, is_share));
        row.push_back(system.samples.empty()
                          ? "-"
                          : fmt::format("{:.3f}", p_value(systems[0].samples, system.samples, i,
                                                          difference)));
      }
      rows.push_back(row);
    }
  }
  print_columns(rows);
}

int score(const ScoreArguments& arguments, const Invocation& invocation) {
  std::vector<System> systems;
  for (const std::string& path : arguments.files) {
    Predictions read = read_predictions(path, arguments.hypothesis, arguments.reference);
    if (!systems.empty()) read = in_order_of(systems[0].predictions, std::move(read));
    systems.push_back(scored(arguments, std::move(read)));
  }
  if (!invocation.json) {
    print(systems);
    return 0;
  }
  Json out = {{"normalizer", arguments.normalizer},
              {"samples", arguments.samples},
              {"seed", arguments.seed},
              {"systems", Json::array()},
              {"comparisons", Json::array()}};
  for (const System& system : systems) {
    out["systems"].push_back(system_json(system));
    if (&system != &systems[0]) out["comparisons"].push_back(comparison_json(systems[0], system));
  }
  std::cout << out.dump(2) << '\n';
  return 0;
}

}  // namespace

void setup_score(const Command& program) {
  const Command command =
      program.command("score", "score texts of any system against references, without a model");
  ScoreArguments& arguments = command.runs(score);
  command
      .option("files", arguments.files,
              "JSON lines, one file for each system (predictions.jsonl of validate, NeMo's "
              "manifests with pred_text); further ones are compared with the first")
      .required();
  command.option("--hypothesis", arguments.hypothesis,
                 "key of the system's text (default: the first of heard_model, text_channel, "
                 "hypothesis, pred_text, prediction, ... that the first line has)");
  command.option("--reference", arguments.reference,
                 "key of the reference text (default: reference, target, answer, label or text)");
  command
      .option("--normalizer", arguments.normalizer,
              "what both texts go through first: Whisper's for English, its basic one, or none")
      .one_of({"english", "basic", "none"})
      .shows_default();
  command
      .option("--samples", arguments.samples,
              "bootstrap samples for intervals and p-values; 0: none")
      .whole_number()
      .shows_default();
  command.option("--seed", arguments.seed, "seed of the samples").whole_number().shows_default();
  command.json("print one JSON object");
}

}  // namespace s2s::run
