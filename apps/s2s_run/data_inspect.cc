#include "s2s_run/data_inspect.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/console.h"
#include "base/progress_bar.h"
#include "data/inspect.h"
#include "s2s/cut_files.h"
#include "s2s_run/columns.h"
#include "s2s_run/number_checks.h"
#include "s2s_run/tokenizer_file.h"
#include "s2s_run/word_tokenizer.h"

namespace s2s::run {
namespace {

using data::AudioProblem;
using data::Histogram;
using data::SetReport;
using Json = nlohmann::ordered_json;

/// Problems that are printed; JSON has all.
constexpr size_t kMaxShown = 20;

struct InspectArguments {
  std::vector<std::string> sources;
  std::string tokenizer;
  int64_t batch = 0;
  int64_t threads = 0;
  bool no_audio = false;
  BatchSpec spec;
};

Json as_json(const Histogram& histogram) {
  return {{"lower_edges_s", histogram.edges}, {"counts", histogram.counts}};
}

Json as_json(const TokenChannelCounts& counts) {
  return {{"turns", counts.turns},
          {"text_longer_than_turn", counts.long_turns},
          {"dropped_tokens", counts.dropped_tokens},
          {"overwritten_tokens", counts.overwritten_tokens},
          {"truncated_tokens", counts.truncated_tokens},
          {"skipped_turns", counts.skipped_turns},
          {"open_turns", counts.open_turns}};
}

void print_json(const SetReport& report, const std::vector<AudioProblem>& problems,
                const std::vector<std::string>& warnings, bool audio_read) {
  Json json = {{"cuts", report.num_cuts}, {"hours", report.hours}};
  json["speakers"] = Json::array();
  for (const auto& speaker : report.speakers) {
    json["speakers"].push_back({{"speaker", speaker.speaker},
                                {"role", speaker.role},
                                {"turns", speaker.turns},
                                {"words", speaker.words},
                                {"hours", speaker.hours},
                                {"unknown_words", speaker.unknown_words}});
  }
  json["duration"] = as_json(report.durations);
  json["gap"] = as_json(report.gaps);
  json["overlap"] = as_json(report.overlaps);
  json["agent_text"] = as_json(report.agent_text);
  json["user_text"] = as_json(report.user_text);
  json["audio_read"] = audio_read;
  json["audio_problems"] = Json::array();
  for (const AudioProblem& problem : problems) {
    json["audio_problems"].push_back({{"kind", problem.kind},
                                      {"cut", problem.cut},
                                      {"which", problem.which},
                                      {"detail", problem.detail}});
  }
  json["unsuitable"] = report.unsuitable;
  json["warnings"] = warnings;
  std::printf("%s\n", json.dump(2).c_str());
}

void print_histogram(const char* title, const Histogram& histogram) {
  int64_t most = 1;
  int64_t total = 0;
  for (const int64_t count : histogram.counts) {
    most = std::max(most, count);
    total += count;
  }
  std::printf("\n%s (%lld)\n", title, static_cast<long long>(total));
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const bool last = i + 1 == histogram.counts.size();
    const std::string range =
        last ? fmt::format("{:>4}+", histogram.edges[i])
             : fmt::format("{:>4} - {:<4}", histogram.edges[i], histogram.edges[i + 1]);
    const auto width = static_cast<size_t>(std::max<int64_t>(1, histogram.counts[i] * 40 / most));
    std::printf("  %-11s s  %7lld  %s\n", range.c_str(),
                static_cast<long long>(histogram.counts[i]), std::string(width, '#').c_str());
  }
}

void print_text_counts(const char* who, const TokenChannelCounts& counts) {
  std::printf(
      "  %s: %lld of %lld turns have text longer than the turn; %lld tokens overwritten, "
      "%lld cut off, %lld turns skipped, %lld without EOS\n",
      who, static_cast<long long>(counts.long_turns), static_cast<long long>(counts.turns),
      static_cast<long long>(counts.overwritten_tokens),
      static_cast<long long>(counts.truncated_tokens), static_cast<long long>(counts.skipped_turns),
      static_cast<long long>(counts.open_turns));
}

void print_audio(const std::vector<AudioProblem>& problems) {
  const auto count = [&](const char* kind) {
    return static_cast<long long>(
        std::count_if(problems.begin(), problems.end(),
                      [&](const AudioProblem& problem) { return problem.kind == kind; }));
  };
  std::printf("\naudio: %lld unreadable, %lld silent, %lld clipped\n", count("unreadable"),
              count("silent"), count("clipped"));
  for (size_t i = 0; i < problems.size() && i < kMaxShown; ++i) {
    const AudioProblem& problem = problems[i];
    std::printf("  %s (%s of %s)%s%s\n", problem.kind.c_str(), problem.which.c_str(),
                problem.cut.c_str(), problem.detail.empty() ? "" : ": ", problem.detail.c_str());
  }
  if (problems.size() > kMaxShown) {
    std::printf("  and %zu more; --json lists all\n", problems.size() - kMaxShown);
  }
}

void print_text(const SetReport& report, const std::vector<AudioProblem>& problems,
                const std::vector<std::string>& warnings, const InspectArguments& arguments) {
  std::printf("%lld cuts, %.2f h\n\n", static_cast<long long>(report.num_cuts), report.hours);
  std::vector<std::vector<std::string>> table = {{"SPEAKER", "ROLE", "TURNS", "WORDS", "HOURS"}};
  for (const auto& speaker : report.speakers) {
    table.push_back({speaker.speaker, speaker.role, std::to_string(speaker.turns),
                     std::to_string(speaker.words), fmt::format("{:.2f}", speaker.hours)});
  }
  print_columns(table);
  print_histogram("duration of cuts", report.durations);
  print_histogram("gap between two speakers' turns", report.gaps);
  print_histogram("overlap of two speakers' turns", report.overlaps);
  std::printf("\ntext on frames of %g s, %s\n", arguments.spec.data.frame_length,
              arguments.tokenizer.empty() ? "one token for a word (--tokenizer PATH for yours)"
                                          : arguments.tokenizer.c_str());
  print_text_counts("agent", report.agent_text);
  print_text_counts("user", report.user_text);
  for (const auto& speaker : report.speakers) {
    if (speaker.unknown_words == 0) continue;
    std::printf("  %s: %lld of %lld words are unknown to the tokenizer and would be silence\n",
                speaker.speaker.c_str(), static_cast<long long>(speaker.unknown_words),
                static_cast<long long>(speaker.words));
  }
  if (!arguments.no_audio) print_audio(problems);
  for (const std::string& text : report.unsuitable)
    std::printf("\nnot suitable: %s\n", text.c_str());
  for (const std::string& text : warnings) std::printf("\nwarning: %s\n", text.c_str());
}

std::vector<AudioProblem> scan(const std::vector<Cut>& cuts, int64_t threads) {
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  ProgressBar bar(
      console,
      {.title = "reading audio", .unit = "cuts", .total = static_cast<int64_t>(cuts.size())});
  const auto machine = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  auto problems = data::scan_audio(cuts, threads > 0 ? threads : std::min<int64_t>(machine, 8),
                                   [&](int64_t done) { bar.update(done); });
  bar.finish();
  return problems;
}

void print_batch(const std::vector<Cut>& cuts, const InspectArguments& arguments,
                 const Tokenizer& tokenizer) {
  std::vector<CutSequence> rows;
  for (const Cut& cut : cuts) {
    if (static_cast<int64_t>(rows.size()) == arguments.batch) break;
    rows.push_back({{{&cut, 0}}, 0});
  }
  std::printf("%s", data::draw_channels(rows, arguments.spec, tokenizer).c_str());
}

int inspect(const InspectArguments& arguments, const Invocation& invocation) {
  const CutManifest manifest = read_cuts(arguments.sources);
  std::optional<TokenizerFile> file;
  if (!arguments.tokenizer.empty()) file.emplace(invocation, arguments.tokenizer);
  const WordTokenizer words(manifest.cuts);
  const Tokenizer& tokenizer = file ? **file : words;
  if (arguments.batch > 0) {
    print_batch(manifest.cuts, arguments, tokenizer);
    return 0;
  }
  const SetReport report = data::inspect_cuts(manifest.cuts, arguments.spec, tokenizer);
  std::vector<AudioProblem> problems;
  if (!arguments.no_audio) problems = scan(manifest.cuts, arguments.threads);
  if (invocation.json) {
    print_json(report, problems, manifest.warnings, !arguments.no_audio);
  } else {
    print_text(report, problems, manifest.warnings, arguments);
  }
  const bool bad = std::any_of(problems.begin(), problems.end(), [](const AudioProblem& problem) {
    return problem.kind == "unreadable";
  });
  return static_cast<int>(bad || !report.unsuitable.empty() ? ExitCode::kCheckFailed
                                                            : ExitCode::kOk);
}

}  // namespace

void setup_data_inspect(CLI::App& app, Invocation& invocation) {
  CLI::App& group = command_group(app, "data", "make, look at and convert data sets");
  CLI::App* command = group.add_subcommand(
      "inspect",
      "what is in a set of cuts, and what is wrong with it; exit 1 when training on it "
      "would stop");
  auto arguments = std::make_shared<InspectArguments>();
  DuplexDataOptions& data = arguments->spec.data;
  command->add_option("source", arguments->sources, "cuts, .jsonl or .jsonl.gz")->required();
  command->add_option("--tokenizer", arguments->tokenizer,
                      "a tokenizer.json or .model, to count tokens");
  command->add_option("--batch", arguments->batch, "draw the token channels of the first N cuts")
      ->check(positive());
  command->add_option("--frame-length", data.frame_length, "in seconds")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--user", data.input_roles, "speakers that are the user")
      ->capture_default_str();
  command->add_option("--agent", data.output_roles, "speakers that are the agent")
      ->capture_default_str();
  command->add_option("--user-text", data.user_text, "turn, or word_end: user words at their ends")
      ->check(CLI::IsMember({"turn", "word_end"}));
  command
      ->add_option("--agent-text", data.agent_text, "turn, or word_start: agent words when spoken")
      ->check(CLI::IsMember({"turn", "word_start"}));
  command->add_option("--long-text", data.long_text, "keep, or drop: agent text behind its turn")
      ->check(CLI::IsMember({"keep", "drop"}));
  command->add_flag("--no-audio", arguments->no_audio, "read the manifests only");
  command->add_option("--threads", arguments->threads, "0: one for each processor, 8 at most");
  command->add_flag("--json", invocation.json, "print the report as JSON");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return inspect(*arguments, invocation); };
  });
}

}  // namespace s2s::run
