// s2s-run data convert: converts recordings and manifests of other programs to cuts.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/atomic_file.h"
#include "base/console.h"
#include "base/interrupt.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "convert/conversion.h"
#include "convert/decoded_audio.h"
#include "convert/unread_files.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/data/data_convert_check.h"
#include "s2s_run/data/data_inspect_result.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

constexpr size_t kMaxShown = 20;
constexpr const char* kStoppingConversion =
    "stopping after the open files; press ^C again to stop immediately\n";

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
                const ConversionCheck& check, const std::vector<std::string>& unread) {
  const nlohmann::ordered_json json = {{"out", arguments.out},
                                       {"from", arguments.import.from},
                                       {"finished", result.finished},
                                       {"cuts", result.cuts},
                                       {"hours", result.hours},
                                       {"cuts_without_turns", result.without_turns},
                                       {"pieces", result.pieces},
                                       {"pieces_done_before", result.resumed},
                                       {"begun_anew", result.begun_anew},
                                       {"skipped", result.skipped},
                                       {"cuts_heard", check.cuts},
                                       {"seconds_heard", check.seconds},
                                       {"turn_check", turn_report_json(check.turns)},
                                       {"warnings", check.warnings},
                                       {"not_read", unread}};
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const convert::ConversionResult& result, const ConvertArguments& arguments) {
  if (result.begun_anew) {
    fmt::print("begun anew: what was done before was made of files that have changed\n");
  }
  if (result.finished) {
    fmt::print("wrote {} from {}: {}, {:.2f} h\n", arguments.out, arguments.import.from,
               counted(result.cuts, "cut"), result.hours);
  } else {
    fmt::print("stopped after {}, {:.2f} h; run the same command to continue\n",
               counted(result.cuts, "cut"), result.hours);
  }
  if (result.without_turns > 0) {
    fmt::print(
        "{} no turns: there is no transcript with times ('s2s-run transcribe --format "
        "alignments' writes them)\n",
        result.without_turns == 1 ? "1 cut has"
                                  : fmt::format("{} cuts have", result.without_turns));
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

void print_check(const ConversionCheck& check) {
  if (check.turns.cuts_judged > 0) {
    fmt::print("turns match the speech in {} of {} that could be checked ({:.0f} s of audio)\n",
               check.turns.cuts_that_fit, counted(check.turns.cuts_judged, "cut"), check.seconds);
  }
  for (const std::string& text : check.warnings) fmt::print("warning: {}\n", printable(text));
}

int run_convert(ConvertArguments arguments, const Invocation& invocation) {
  if (arguments.lengths == "shorter") arguments.import.lengths = convert::Lengths::kShorter;
  arguments.conversion.relative = arguments.paths == "relative";
  arguments.import.decoder = convert::find_decoder();
  arguments.import.decoded_folder = convert::decoded_folder_of(arguments.out);
  remove_partial_files(arguments.import.decoded_folder);  // of a run that was killed
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
  const bool is_folder_of_audio =
      arguments.import.from == "stereo" || arguments.import.from == "wav-pairs";
  std::vector<std::string> unread;
  if (is_folder_of_audio && std::filesystem::is_directory(arguments.source)) {
    unread = convert::unread_files(arguments.source, arguments.import);
  }
  ConversionCheck check;
  if (result.finished && !arguments.no_audio) {
    check = check_conversion(arguments.out, arguments.import.from);
  }
  if (invocation.json) {
    print_json(result, arguments, check, unread);
  } else {
    print_text(result, arguments);
    const std::string not_read = convert::unread_text(unread, arguments.source);
    if (!not_read.empty()) fmt::print("{}\n", not_read);
    print_check(check);
  }
  return static_cast<int>(result.finished ? ExitCode::kOk : ExitCode::kStopped);
}

void add_source_options(const Command& command, convert::ImportOptions& import) {
  command.option("--from", import.from, "kind of source (default: detected from the files)")
      .one_of(convert::import_names());
  command.option("--user", import.user, "folder, part of the file name, or label of the user")
      .shows_default();
  command.option("--agent", import.agent, "folder, part of the file name, or label of the agent")
      .shows_default();
  command.option("--user-channel", import.user_channel, "channel of the user in stereo files")
      .whole_number()
      .shows_default();
  command.option("--agent-channel", import.agent_channel, "channel of the agent in stereo files")
      .whole_number()
      .shows_default();
  command.option("--main-speaker", import.main_speaker, "label of the agent in moshi alignments")
      .shows_default();
  command
      .option("--pause", import.pause_s,
              "minimum pause in seconds between two turns of one speaker")
      .not_negative()
      .shows_default();
  command.option("--language", import.language, "language of turns that have none");
}

void add_kind_options(const Command& command, ConvertArguments& arguments) {
  convert::ImportOptions& import = arguments.import;
  command
      .option("--lengths", arguments.lengths,
              "pairs whose lengths differ by more than 0.5 s: stop with an error, or cut to the "
              "shorter file")
      .one_of({"error", "shorter"})
      .shows_default();
  command.option("--supervisions", import.supervisions,
                 "lhotse: supervisions of the recordings (default: the file in the same folder)");
  command
      .option("--sample-rate", import.sample_rate_hz,
              "kaldi: sample rate of all recordings in Hz; with reco2dur, no audio file is opened")
      .positive();
  const Argument user =
      command.option("--user-suffix", import.user_suffix,
                     "kaldi: suffix of user recordings: -A if NAME-A is the user of dialogue NAME");
  const Argument agent = command.option(
      "--agent-suffix", import.agent_suffix,
      "kaldi: suffix of agent recordings: -B if NAME-B is the agent of dialogue NAME");
  user.needs(agent);
  agent.needs(user);
}

}  // namespace

void setup_data_convert(const Command& group) {
  const Command command = group.command("convert",
                                        "convert WAV pairs, stereo files, or moshi, Kaldi, NeMo or "
                                        "Lhotse manifests to cuts; continues where it was stopped");
  ConvertArguments& arguments = command.runs(run_convert);
  convert::ConversionOptions& conversion = arguments.conversion;
  conversion.threads = 0;
  command.option("source", arguments.source, "folder, file or manifest to convert").required();
  command.option("out", arguments.out, "file of cuts to write (.jsonl or .jsonl.gz)").required();
  add_source_options(command, arguments.import);
  add_kind_options(command, arguments);
  command
      .option("--paths", arguments.paths, "audio paths: absolute, or relative to the output file")
      .one_of({"absolute", "relative"})
      .shows_default();
  command
      .option("--skip-bad", conversion.skip_bad, "skip and list up to this many bad files or lines")
      .whole_number()
      .shows_default();
  command.flag("--rename-duplicates", conversion.rename_duplicates,
               "rename duplicate ids: the second cut 'x' becomes 'x-2'");
  command.flag("--no-audio", arguments.no_audio,
               "read only audio headers; do not compare turns with speech in the first 20 cuts");
  add_allow_commands(command);
  command.force(conversion.replace);
  command
      .option("--threads", conversion.threads, "number of threads; 0: one per processor, at most 8")
      .whole_number();
  command.json("print the summary as JSON");
}

}  // namespace s2s::run
