// s2s-run data inspect: reports the content and the problems of a data set.

#include <cstdio>
#include <memory>
#include <optional>

#include "base/console.h"
#include "files/command_rules.h"
#include "s2s_run/data/data_inspect_parts.h"
#include "s2s_run/data/data_inspect_texts.h"
#include "s2s_run/data/data_inspect_tokens.h"
#include "s2s_run/data/word_tokenizer.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"
#include "s2s_run/tokenizer/tokenizer_file.h"

namespace s2s::run {
namespace {

constexpr double kUsualBatch_s = 120;

/// Frames, roles and rates of a run, overridden by the command line.
BatchSpec spec_of(const InspectArguments& arguments, const DataSet& set) {
  BatchSpec spec;
  if (set.data() != nullptr) {
    Findings findings;
    OptionReader(*set.data(), "data", findings, DuplexDataOptions::other_keys()).read(spec.data);
    findings.throw_if_any();
  }
  if (const Config* rate = set.block().find("sample_rate"); rate != nullptr && !rate->is_null()) {
    spec.frames_rate_hz = rate->as_int(set.path() + ".sample_rate");
  }
  for (const auto& apply : arguments.data_options) apply(spec.data);
  return spec;
}

/// Takes bucket and batch options from the run's block if the command line does not set them.
void complete_buckets(const DataSet& set, data::BucketOptions& buckets) {
  const auto find = [&](const char* key) -> const Config* {
    const Config* const node = set.kind() == SourceKind::kRun || set.kind() == SourceKind::kBlock
                                   ? set.block().find(key)
                                   : nullptr;
    return node == nullptr || node->is_null() ? nullptr : node;
  };
  const Config* const bins = find("bucket_duration_bins");
  if (buckets.bins.empty() && bins != nullptr && bins->is_list()) {
    for (const Config& bin : bins->items()) {
      const double upper_s = (bin.is_list() ? bin.items().at(0) : bin).as_double("bins");
      if (buckets.bins.empty() || buckets.bins.back() < upper_s) buckets.bins.push_back(upper_s);
    }
  }
  if (const Config* node = find("num_buckets")) buckets.num_buckets = node->as_int("num_buckets");
  data::BatchLimits& limits = buckets.limits;
  if (limits.max_length || limits.max_cuts) return;
  if (const Config* node = find("batch_duration")) limits.max_length = node->as_double("batch");
  if (const Config* node = find("batch_size")) limits.max_cuts = node->as_int("batch");
  if (const Config* node = find("quadratic_duration")) {
    limits.quadratic_length = node->as_double("quadratic_duration");
  }
  if (set.kind() != SourceKind::kRun && limits.max_cuts == 1) limits.max_cuts.reset();
  if (!limits.max_length && !limits.max_cuts) limits.max_length = kUsualBatch_s;
}

/// Replaces the findings of all cuts by one warning: a NeMo manifest has no agent audio.
void say_what_nemo_lacks(InspectResult& result) {
  if (result.report.num_unsuitable == 0) return;
  result.report.unsuitable.clear();
  result.warnings.push_back(
      "a NeMo manifest has user speech but no agent audio; to train an agent that listens, write "
      "in the data set block: input_cfg: [{type: nemo_tarred_to_duplex, manifest_filepath: " +
      result.source +
      "}], which also reads a manifest without tar files; for dialogues, see s2s-run data convert "
      "--help");
}

int inspect(InspectArguments arguments, const Invocation& invocation) {
  arguments.quiet = invocation.json && !standard_error_is_terminal();
  InspectResult result;
  if (!arguments.html.empty()) require_new({arguments.html}, arguments.force);
  if (are_texts(arguments.source.words)) return inspect_texts(arguments, invocation);
  const DataSet set(arguments.source, invocation);
  std::optional<TokenizerFile> file;
  if (!arguments.tokenizer.empty()) file.emplace(invocation, arguments.tokenizer);
  const std::unique_ptr<Tokenizer> own = file ? nullptr : set.tokenizer();
  const WordTokenizer words;
  const Tokenizer& tokenizer = file ? **file : own ? *own : static_cast<const Tokenizer&>(words);
  if (has_other_source(set)) {
    return inspect_tokens(set, tokenizer, invocation, arguments.batch);
  }
  const BatchSpec spec = spec_of(arguments, set);
  if (spec.data.allow_commands) allow_data_commands();
  set_command_timeout(spec.data.command_timeout_s);
  const auto warn = [&](const std::string& text) { result.warnings.push_back(text); };
  std::unique_ptr<data::CutBatches> batches;
  if (set.kind() == SourceKind::kRun) batches = open_batches(set, &tokenizer, warn);
  const InspectedSet inspected{set, batches.get(), spec, tokenizer};
  if (arguments.batch > 0) {
    std::printf("%s", drawn_batch(arguments, inspected).c_str());
    return 0;
  }
  complete_buckets(set, arguments.buckets);
  result.source = arguments.source.words.front();
  result.kind = name_of(set.kind());
  result.tokenizer = file ? arguments.tokenizer : own ? "the run's tokenizer" : "";
  result.spec = spec;
  result.limits = arguments.buckets.limits;
  read_set(arguments, inspected, result);
  if (set.kind() == SourceKind::kNemo) say_what_nemo_lacks(result);
  if (batches && !result.stopped) result.drawn = draw_batches(*batches, arguments.draw);
  if (!arguments.html.empty()) write_inspect_page(result, arguments.html);
  if (invocation.json) {
    print_inspect_json(result);
  } else {
    print_inspect_text(result);
    if (!arguments.html.empty()) std::printf("\nwrote %s\n", arguments.html.c_str());
  }
  if (result.stopped) return static_cast<int>(ExitCode::kStopped);
  const bool bad = result.problem_counts.contains("unreadable") ||
                   result.problem_counts.contains("command") || result.report.num_unsuitable > 0;
  return static_cast<int>(bad ? ExitCode::kCheckFailed : ExitCode::kOk);
}

/// Adds an option that overrides the `data` block. If it is not given, the run's value is used.
template <class T>
Argument add_data_option(const Command& command, InspectArguments& arguments, const char* name,
                         T DuplexDataOptions::*member, const char* description) {
  const auto value = std::make_shared<T>(DuplexDataOptions().*member);
  const Argument option = command.option(name, *value, description);
  arguments.data_options.push_back([option, value, member](DuplexDataOptions& data) {
    if (option.is_given()) data.*member = *value;
  });
  return option;
}

void add_text_options(const Command& command, InspectArguments& arguments) {
  using Data = DuplexDataOptions;
  command.option("--tokenizer", arguments.tokenizer,
                 "tokenizer.json or .model file, to count tokens");
  add_data_option(command, arguments, "--frame-length", &Data::frame_length,
                  "frame length in seconds")
      .positive()
      .shows_default();
  add_data_option(command, arguments, "--user", &Data::input_roles, "names of the user speakers")
      .shows_default();
  add_data_option(command, arguments, "--agent", &Data::output_roles, "names of the agent speakers")
      .shows_default();
  add_data_option(command, arguments, "--user-text", &Data::user_text,
                  "placement of user text: turn (from the start of the turn) or word_end (each "
                  "word at its end)")
      .one_of({"turn", "word_end"});
  add_data_option(command, arguments, "--agent-text", &Data::agent_text,
                  "placement of agent text: turn (from the start of the turn), word_start (each "
                  "word when it is spoken) or inner_monologue (so, without BOS and EOS)")
      .one_of({"turn", "word_start", "inner_monologue"});
  add_data_option(command, arguments, "--long-text", &Data::long_text,
                  "agent text that is longer than its turn: keep it or drop it")
      .one_of({"keep", "drop"});
}

void add_bucket_options(const Command& command, InspectArguments& arguments) {
  data::BucketOptions& buckets = arguments.buckets;
  command
      .option("--bins", buckets.bins, "upper bounds of the buckets in seconds, separated by commas")
      .separated_by(',')
      .positive();
  command
      .option("--num-buckets", buckets.num_buckets,
              "number of buckets estimated as in Lhotse, if --bins is not given")
      .positive()
      .shows_default();
  command.option("--batch-duration", buckets.limits.max_length, "seconds per batch (default: 120)")
      .positive();
  command.option("--batch-size", buckets.limits.max_cuts, "cuts per batch").positive();
  command
      .option("--quadratic-duration", buckets.limits.quadratic_length,
              "count a cut of d seconds as d + d * d / this value")
      .positive();
  command.option("--draw", arguments.draw, "number of batches to draw from the sampler of the run")
      .whole_number()
      .shows_default();
}

void add_reading_options(const Command& command, InspectArguments& arguments) {
  command.option("--limit", arguments.limit, "read only the first N cuts").positive();
  command.option("--sample", arguments.sample, "read only the audio of N random cuts").positive();
  command.flag("--no-audio", arguments.no_audio, "read only the manifests");
  add_allow_commands(command);
  command
      .option("--threads", arguments.threads, "number of threads; 0: one per processor, at most 8")
      .whole_number();
  command.option("--html", arguments.html, "write the report as one HTML page with audio examples");
  command.force(arguments.force);
  command.option("--examples", arguments.examples, "number of random examples on the HTML page")
      .whole_number()
      .shows_default();
}

}  // namespace

void setup_data_inspect(const Command& group) {
  const Command command = group.command("inspect",
                                        "report the content and the problems of a data set; exit "
                                        "code 1 if training on it would fail");
  InspectArguments& arguments = command.runs(inspect);
  command
      .option("source", arguments.source.words,
              "cuts (.jsonl, .jsonl.gz), a Shar directory, a NeMo manifest, an input_cfg, files of "
              "texts or chats (.jsonl, .json), or a CONFIG with [key=value...]")
      .required();
  command
      .option("--set", arguments.source.set,
              "data set of a CONFIG: train_ds, or the name of a validation set")
      .shows_default();
  command
      .option(
          "--batch", arguments.batch,
          "print the token channels of the first N cuts, or the first N texts with [[ ]] around "
          "what is learned; with a CONFIG, of batch number N")
      .positive();
  add_text_options(command, arguments);
  add_bucket_options(command, arguments);
  add_reading_options(command, arguments);
  command.json("print the report as JSON");
}

}  // namespace s2s::run
