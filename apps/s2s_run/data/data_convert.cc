// s2s-run data convert: cuts of what other programs wrote.

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/console.h"
#include "base/interrupt.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "convert/conversion.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/data/data_convert_hear.h"
#include "s2s_run/data/data_inspect_result.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

constexpr size_t kMaxShown = 20;
constexpr const char* kStoppingConversion =
    "stopping after the files that are open; ^C again stops at once\n";

struct ConvertArguments {
  std::string source;
  std::string out;
  convert::ImportOptions import;
  convert::ConversionOptions conversion;
  std::string lengths = "error";
  std::string paths = "absolute";
  bool no_audio = false;
};

void print_json(const convert::ConversionResult& result, const ConvertArguments& arguments,
                const HeardConversion& heard) {
  const nlohmann::ordered_json json = {
      {"out", arguments.out},           {"from", arguments.import.from},
      {"finished", result.finished},    {"cuts", result.cuts},
      {"hours", result.hours},          {"cuts_without_turns", result.without_turns},
      {"pieces", result.pieces},        {"pieces_done_before", result.resumed},
      {"skipped", result.skipped},      {"cuts_heard", heard.cuts},
      {"seconds_heard", heard.seconds}, {"turn_check", turn_report_json(heard.turns)},
      {"warnings", heard.warnings}};
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const convert::ConversionResult& result, const ConvertArguments& arguments) {
  if (result.finished) {
    std::printf("wrote %s from %s: %lld cuts, %.2f h\n", arguments.out.c_str(),
                arguments.import.from.c_str(), static_cast<long long>(result.cuts), result.hours);
  } else {
    std::printf("stopped after %lld cuts, %.2f h; the same command goes on\n",
                static_cast<long long>(result.cuts), result.hours);
  }
  if (result.without_turns > 0) {
    std::printf("%lld cuts have no turns: no transcript says who speaks when\n",
                static_cast<long long>(result.without_turns));
  }
  if (result.skipped.empty()) return;
  std::printf("skipped %zu:\n", result.skipped.size());
  for (size_t i = 0; i < result.skipped.size() && i < kMaxShown; ++i) {
    std::printf("  %s\n", printable(result.skipped[i]).c_str());
  }
  if (result.skipped.size() > kMaxShown) {
    std::printf("  and %zu more; --json lists all\n", result.skipped.size() - kMaxShown);
  }
}

void print_heard(const HeardConversion& heard) {
  if (heard.turns.cuts_judged > 0) {
    fmt::print("turns fit the speech in {} of {} that could be judged ({:.0f} s heard)\n",
               heard.turns.cuts_that_fit, counted(heard.turns.cuts_judged, "cut"), heard.seconds);
  }
  for (const std::string& text : heard.warnings) fmt::print("warning: {}\n", printable(text));
}

int run_convert(ConvertArguments arguments, const Invocation& invocation) {
  if (arguments.lengths == "shorter") arguments.import.lengths = convert::Lengths::kShorter;
  arguments.conversion.relative = arguments.paths == "relative";
  if (arguments.import.from.empty()) {
    arguments.import.from = convert::detect_import(arguments.source, arguments.import);
  }
  if (arguments.conversion.threads == 0) {
    arguments.conversion.threads = std::min(8U, std::max(1U, std::thread::hardware_concurrency()));
  }
  const auto importer = convert::open_importer(arguments.source, arguments.import);
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  std::optional<ProgressBar> bar;
  const InterruptWatch interrupt(kStoppingConversion);
  const auto result = convert::convert(
      *importer, arguments.out, arguments.conversion, [&] { return interrupt.requested(); },
      [&](int64_t done, int64_t total) {
        if (!bar) bar.emplace(console, ProgressSettings{"convert", "pieces", total, done});
        bar->update(done);
      });
  if (bar) bar->finish();
  HeardConversion heard;
  if (result.finished && !arguments.no_audio) {
    heard = hear_conversion(arguments.out, arguments.import.from);
  }
  if (invocation.json) {
    print_json(result, arguments, heard);
  } else {
    print_text(result, arguments);
    print_heard(heard);
  }
  return static_cast<int>(result.finished ? ExitCode::kOk : ExitCode::kStopped);
}

void add_source_options(const Command& command, convert::ImportOptions& import) {
  command.option("--from", import.from, "kind of source; told from the files without it")
      .one_of(convert::import_names());
  command.option("--user", import.user, "the user's folder, part of file names, label")
      .shows_default();
  command.option("--agent", import.agent, "the agent's folder, part of file names, label")
      .shows_default();
  command.option("--user-channel", import.user_channel, "of files with both speakers")
      .whole_number()
      .shows_default();
  command.option("--agent-channel", import.agent_channel, "of files with both speakers")
      .whole_number()
      .shows_default();
  command.option("--main-speaker", import.main_speaker, "the agent's label in moshi's alignments")
      .shows_default();
  command
      .option("--pause", import.pause_s,
              "seconds: words of one speaker that are further apart are two turns")
      .not_negative()
      .shows_default();
  command.option("--language", import.language, "of all turns that have none");
}

void add_kind_options(const Command& command, ConvertArguments& arguments) {
  convert::ImportOptions& import = arguments.import;
  command
      .option("--lengths", arguments.lengths,
              "pairs that differ by more than 0.5 s: error, or shorter: end with the shorter")
      .one_of({"error", "shorter"})
      .shows_default();
  command.option("--supervisions", import.supervisions,
                 "lhotse: the supervisions of the recordings; found beside them without it");
  command
      .option("--sample-rate", import.sample_rate_hz,
              "kaldi: Hz of all recordings; with reco2dur no audio is opened")
      .positive();
  const Argument user = command.option("--user-suffix", import.user_suffix,
                                       "kaldi: recordings NAME-A are the user of dialogue NAME");
  const Argument agent =
      command.option("--agent-suffix", import.agent_suffix, "kaldi: and NAME-B its agent");
  user.needs(agent);
  agent.needs(user);
}

}  // namespace

void setup_data_convert(const Command& group) {
  const Command command = group.command(
      "convert",
      "make cuts of wav pairs, stereo files, moshi, Kaldi, NeMo or lhotse manifests; goes on where "
      "it was stopped");
  ConvertArguments& arguments = command.runs(run_convert);
  convert::ConversionOptions& conversion = arguments.conversion;
  conversion.threads = 0;
  command.option("source", arguments.source, "folder, file or manifest").required();
  command.option("out", arguments.out, "cuts to write: .jsonl or .jsonl.gz").required();
  add_source_options(command, arguments.import);
  add_kind_options(command, arguments);
  command.option("--paths", arguments.paths, "of audio: absolute, or relative to the result")
      .one_of({"absolute", "relative"})
      .shows_default();
  command
      .option("--skip-bad", conversion.skip_bad,
              "leave out up to so many bad files or lines and list them")
      .whole_number()
      .shows_default();
  command.flag("--rename-duplicates", conversion.rename_duplicates,
               "the second cut 'x' becomes 'x-2'");
  command.flag("--no-audio", arguments.no_audio,
               "read headers only: do not compare turns and speech of the first 20 cuts");
  add_allow_commands(command);
  command.force(conversion.replace);
  command.option("--threads", conversion.threads, "0: one for each processor, 8 at most")
      .whole_number();
  command.json("print the summary as JSON");
}

}  // namespace s2s::run
