#include "s2s_run/data_synth.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "s2s_run/synth/synth.h"

namespace s2s::run {

namespace {

using Clock = std::chrono::steady_clock;

/// One line that is drawn over on a terminal; a line every tenth elsewhere.
class ProgressLine {
 public:
  void operator()(size_t done, size_t total) {
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
    const size_t tenth = total == 0 ? 10 : done * 10 / total;
    const bool last = done == total;
    if (terminal_ ? (elapsed_s - shown_s_ < 0.2 && !last) : tenth == shown_tenth_) return;
    if (done == 0 || done == shown_) return;
    shown_s_ = elapsed_s;
    shown_tenth_ = tenth;
    shown_ = done;
    const double rate = static_cast<double>(done) / std::max(elapsed_s, 1e-3);
    const std::string line =
        fmt::format("speaking: {} of {} cuts, {:.0f} cuts/s, {:.0f} s left", done, total, rate,
                    static_cast<double>(total - done) / rate);
    if (terminal_) {
      std::fprintf(stderr, "\r%s \033[K%s", line.c_str(), last ? "\n" : "");
    } else {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
  }

 private:
  Clock::time_point start_ = Clock::now();
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  double shown_s_ = -1;
  size_t shown_tenth_ = 0;
  size_t shown_ = 0;
};

struct SynthArguments {
  std::string folder;
  bool quick = false;
  bool tiny = false;
  size_t workers = 0;
  synth::SetOptions options;
};

void print_summary(const synth::SetSummary& summary, double seconds, bool json) {
  if (json) {
    const nlohmann::ordered_json out = {
        {"folder",  summary.folder.string()},
        {"reused",  summary.reused         },
        {"cuts",    summary.cuts           },
        {"hours",   summary.hours          },
        {"seconds", seconds                }
    };
    std::printf("%s\n", out.dump().c_str());
    return;
  }
  std::string cuts;
  for (const auto& [split, count] : summary.cuts) {
    cuts += fmt::format("{}{} {}", cuts.empty() ? "" : ", ", split, count);
  }
  std::printf("%s %s: %.2f h in cuts: %s",
              summary.reused ? "already there, nothing to do:" : "made", summary.folder.c_str(),
              summary.hours, cuts.c_str());
  std::printf(summary.reused ? "\n" : "; %.1f s\n", seconds);
}

int run_synth(SynthArguments arguments, bool json) {
  if (arguments.tiny) arguments.options.size = synth::Size::kTiny;
  if (arguments.quick) arguments.options.size = synth::Size::kQuick;
  const auto start = Clock::now();
  const synth::SetSummary summary =
      synth::make_set(arguments.folder, arguments.options, arguments.workers, ProgressLine());
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  print_summary(summary, elapsed.count(), json);
  return 0;
}

}  // namespace

void setup_data_synth(CLI::App& app, Invocation& invocation) {
  CLI::App& data = command_group(app, "data", "make, look at and convert data sets");
  CLI::App* command = data.add_subcommand(
      "synth", "speak a data set of question-answer dialogues with flite's voices");
  auto arguments = std::make_shared<SynthArguments>();
  synth::SetOptions& options = arguments->options;
  command->add_option("out", arguments->folder, "folder to make")->required();
  CLI::Option* quick = command->add_flag("--quick", arguments->quick, "two domains, some seconds");
  command->add_flag("--tiny", arguments->tiny, "a dozen cuts, to try an option")->excludes(quick);
  command->add_option("--seed", options.seed, "another seed gives another set")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--sample-rate", options.sample_rate_hz, "rate of the agent's audio in hertz")
      ->capture_default_str();
  command->add_option("--format", options.audio_format, "16-bit audio files: wav or flac")
      ->check(CLI::IsMember({"wav", "flac"}))
      ->capture_default_str();
  command->add_option("--domains", options.domains, "domains to talk about, separated by commas")
      ->delimiter(',');
  command->add_option("--workers", arguments->workers, "processes; 0: one for each processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--json", invocation.json, "print the summary as JSON");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] {
      return run_synth(*arguments, invocation.json);
    };
  });
}

}  // namespace s2s::run
