// s2s-run data shar: writes cuts in Lhotse Shar format.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <thread>

#include "base/text.h"
#include "config/load_config.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/data/shar_job.h"
#include "s2s_run/subcommands.h"
#include "streams/input_source.h"
#include "streams/python_random.h"

namespace s2s::run {
namespace {

struct SharArguments {
  std::string source;
  std::vector<std::string> fields = {"recording=flac,target_audio=flac"};
  bool shuffle = false;
  int64_t seed = 0;
  bool plain_jsonl = false;
  data::WriteSharOptions options;
};

std::vector<int64_t> shuffled_rows(int64_t num_rows, int64_t seed) {
  std::vector<int64_t> rows(static_cast<size_t>(num_rows));
  std::iota(rows.begin(), rows.end(), 0);
  data::PythonRandom(seed).shuffle(rows);
  return rows;
}

/// Keys of a data set's block that choose or change cuts when a run reads them.
constexpr std::array kKeysOfReading = {"channel_selector",
                                       "min_duration",
                                       "max_duration",
                                       "min_tps",
                                       "max_tps",
                                       "max_cer",
                                       "keep",
                                       "limit",
                                       "sample_rate",
                                       "noise_path",
                                       "perturb_speed",
                                       "truncate_duration",
                                       "pad_min_duration",
                                       "rir_enabled",
                                       "concatenate",
                                       "concatenate_samples",
                                       "compression_enabled",
                                       "lowpass_enabled",
                                       "min_context_speaker_similarity",
                                       "cut_into_windows_duration"};

/// A Shar folder has the cuts as the source has them: says which keys of a configuration did not
/// count, because a run that reads the folder needs them again.
void note_keys_of_reading(const std::string& source) {
  const bool is_yaml = source.ends_with(".yaml") || source.ends_with(".yml");
  if (!is_yaml || source.starts_with("pipe:")) return;
  Config block;
  try {
    const Config top = load_config(source);
    const Config* const train = top.find_path("data.train_ds");
    block = train != nullptr ? *train : top;
  } catch (const Error&) {
    return;  // a list of sources has no such keys
  }
  std::vector<std::string> found;
  for (const char* const key : kKeysOfReading) {
    const Config* const value = block.find(key);
    const bool is_off =
        value == nullptr || value->is_null() || (value->is_scalar() && value->text() == "false");
    if (!is_off) found.emplace_back(key);
  }
  if (found.empty()) return;
  std::fprintf(stderr,
               "note: cuts are written whole, with all channels; these keys of %s have no effect "
               "here, and a run that reads the folder has to have them: %s\n",
               printable_name(source).c_str(), joined(found, ", ").c_str());
}

int run_shar(SharArguments arguments, const Invocation& invocation) {
  data::WriteSharOptions& options = arguments.options;
  if (options.num_jobs == 0) options.num_jobs = std::max(1U, std::thread::hardware_concurrency());
  options.writer.fields =
      data::parse_shar_fields(fmt::format("{}", fmt::join(arguments.fields, ",")));
  options.writer.compress_jsonl = !arguments.plain_jsonl;
  data::allow_commands_of_source(arguments.source);
  const SharJob job{
      "shar",
      {arguments.source},
      [&](const files::OpenOptions& how) { return data::open_input_rows(arguments.source, how); },
      [&](int64_t num_cuts) {
        if (!arguments.shuffle) return;
        options.seed = arguments.seed;
        options.order = shuffled_rows(num_cuts, arguments.seed);
      }};
  const data::WriteSharSummary summary = write_shards(job, options);
  note_keys_of_reading(arguments.source);
  print_summary(summary, options.writer.folder, invocation.json);
  return static_cast<int>(summary.stopped ? ExitCode::kStopped : ExitCode::kOk);
}

void add_options(const Command& command, SharArguments& arguments) {
  data::WriteSharOptions& options = arguments.options;
  command
      .option("source", arguments.source,
              "manifest of cuts (.jsonl, .jsonl.gz, pipe:CMD, or a pattern with {}), Shar folder, "
              "NeMo manifest, input_cfg or run configuration (YAML)")
      .required();
  command.option("out", options.writer.folder, "folder to write").required();
  command
      .option("--fields", arguments.fields,
              "NAME=FORMAT, separated by commas or repeated; wav, flac, mp3, opus, ogg, "
              "original; numpy; "
              "jsonl")
      .shows_default();
  add_shard_options(command, options);
  command.flag("--shuffle", arguments.shuffle, "shuffle the cuts");
  command
      .option("--seed", arguments.seed,
              "random seed of --shuffle, as in Python's random.Random(SEED)")
      .shows_default();
  command.flag("--plain-jsonl", arguments.plain_jsonl,
               "write cuts and values without gzip compression");
  command.flag("--index", options.writer.make_indexes,
               "also write .idx files; Lhotse before 2.0 cannot read such a folder");
}

}  // namespace

void setup_data_shar(const Command& group) {
  const Command command = group.command(
      "shar", "write cuts in Lhotse Shar format; a second run continues an interrupted one");
  add_allow_commands(command);
  SharArguments& arguments = command.runs(run_shar);
  command.force(arguments.options.force);
  arguments.options.num_jobs = 0;
  add_options(command, arguments);
  command.json("print the summary as JSON");
}

}  // namespace s2s::run
