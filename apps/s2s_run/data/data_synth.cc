#include "s2s_run/data/data_synth.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/console.h"
#include "base/progress_bar.h"
#include "s2s/foreign_text.h"
#include "s2s/options.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

/// Synthesizes the set, with a progress bar on standard error.
synth::SetSummary make_with_progress(const std::filesystem::path& folder,
                                     const synth::SetOptions& options, size_t workers) {
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  std::optional<ProgressBar> bar;
  const synth::SetSummary summary =
      synth::make_set(folder, options, workers, [&](size_t done, size_t total) {
        if (!bar) bar.emplace(console, ProgressSettings{"speak", "cuts", int64_t(total)});
        bar->update(int64_t(done));
      });
  if (bar) bar->finish();
  for (const std::string& name : summary.changed) {
    std::fprintf(stderr,
                 "warning: %s is used as it is, but '%s' in it is not as it was made; to make the "
                 "set again, remove the folder\n",
                 printable_name(folder.string()).c_str(), printable_name(name).c_str());
  }
  return summary;
}

struct SynthArguments {
  std::string folder;
  bool quick = false;
  bool tiny = false;
  bool text = false;
  size_t workers = 0;
  synth::SetOptions options;
};

void print_summary(const synth::SetSummary& summary, double seconds, bool json) {
  if (json) {
    const nlohmann::ordered_json out = {{"folder", summary.folder.string()},
                                        {"reused", summary.reused},
                                        {"changed", summary.changed},
                                        {"cuts", summary.cuts},
                                        {"hours", summary.hours},
                                        {"seconds", seconds}};
    std::printf("%s\n", out.dump().c_str());
    return;
  }
  std::string cuts;
  for (const auto& [split, count] : summary.cuts) {
    cuts += fmt::format("{}{} {}", cuts.empty() ? "" : ", ", split, count);
  }
  const std::string what =
      summary.hours > 0 ? fmt::format("{:.2f} h in cuts", summary.hours) : "lines";
  std::printf("%s %s: %s: %s", summary.reused ? "already exists, nothing to do:" : "made",
              summary.folder.c_str(), what.c_str(), cuts.c_str());
  std::printf(summary.reused ? "\n" : "; %.1f s\n", seconds);
}

int run_synth(SynthArguments arguments, const Invocation& invocation) {
  if (arguments.tiny) arguments.options.size = synth::Size::kTiny;
  if (arguments.quick) arguments.options.size = synth::Size::kQuick;
  if (arguments.text) arguments.options.kind = "text";
  const double start_s = monotonic_seconds();
  const synth::SetSummary summary =
      make_with_progress(arguments.folder, arguments.options, arguments.workers);
  print_summary(summary, monotonic_seconds() - start_s, invocation.json);
  return 0;
}

struct SynthBlock {
  std::string path;
  std::string kind = "speech";
  std::string size = "full";
  int64_t seed = 1;
  int64_t sample_rate = synth::kSpeechRateHz;
  std::string audio_format = "wav";
  std::vector<std::string> domains;
  int64_t workers = 0;

  void visit(OptionVisitor& v) {
    v("path", path, "folder of the data set, created if it does not exist", required());
    v("kind", kind,
      "speech: dialogues as cuts; text: prompts and chats as JSONL, with size and seed",
      one_of({"speech", "text"}));
    v("size", size, "size of the data set", one_of({"tiny", "quick", "full"}));
    v("seed", seed, "random seed of the data set", at_least(0));
    v("sample_rate", sample_rate, "sample rate of the agent's audio in Hz");
    v("audio_format", audio_format, "format of the 16-bit audio files", one_of({"wav", "flac"}));
    v("domains", domains, "domains of the dialogues; empty: the default for the size");
    v("workers", workers, "number of processes; 0: one per processor", at_least(0));
  }
};

}  // namespace

void setup_data_synth(const Command& group) {
  const Command command = group.command(
      "synth", "synthesize a data set of question-answer dialogues with flite voices, or of text");
  SynthArguments& arguments = command.runs(run_synth);
  synth::SetOptions& options = arguments.options;
  command.option("out", arguments.folder, "folder to create").required();
  const Argument quick = command.flag("--quick", arguments.quick, "two domains; takes seconds");
  command.flag("--tiny", arguments.tiny, "a dozen cuts, to try out options").excludes(quick);
  command.flag("--text", arguments.text, "prompts and chats as JSONL in place of speech");
  command.option("--seed", options.seed, "random seed of the data set")
      .not_negative()
      .shows_default();
  command.option("--sample-rate", options.sample_rate_hz, "sample rate of the agent's audio in Hz")
      .shows_default();
  command.option("--format", options.audio_format, "16-bit audio files: wav or flac")
      .one_of({"wav", "flac"})
      .shows_default();
  command.option("--domains", options.domains, "domains of the dialogues, separated by commas")
      .separated_by(',');
  command.option("--workers", arguments.workers, "number of processes; 0: one per processor")
      .between(0, 1024)
      .shows_default();
  command.json("print the summary as JSON");
}

OptionTable configured_set_options() { return list_options<SynthBlock>(); }

std::string configured_set_to_make(const Config& config) {
  const Config* const path = config.find_path("data.synth.path");
  const bool is_asked = path != nullptr && path->is_scalar() && !path->is_null();
  return !is_asked || std::filesystem::exists(path->text()) ? "" : path->text();
}

std::optional<synth::SetSummary> make_configured_set(const Config& config,
                                                     const std::filesystem::path& base_dir) {
  const Config* block = config.find_path("data.synth");
  if (block == nullptr || block->is_null()) return std::nullopt;
  const auto asked = read_options<SynthBlock>(*block, "data.synth");
  synth::SetOptions options;
  options.size = asked.size == "tiny"    ? synth::Size::kTiny
                 : asked.size == "quick" ? synth::Size::kQuick
                                         : synth::Size::kFull;
  options.kind = asked.kind;
  options.seed = static_cast<uint64_t>(asked.seed);
  options.sample_rate_hz = asked.sample_rate;
  options.audio_format = asked.audio_format;
  options.domains = asked.domains;
  const std::filesystem::path path = asked.path;
  const auto workers = static_cast<size_t>(asked.workers);
  return make_with_progress(path.is_absolute() ? path : base_dir / path, options, workers);
}

}  // namespace s2s::run
