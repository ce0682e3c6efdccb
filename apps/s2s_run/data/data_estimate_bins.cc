// s2s-run data estimate-bins: estimates bucket bounds of a set, as NeMo's scripts do.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/console.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "s2s_run/subcommands.h"
#include "s2s_run/tokenizer/tokenizer_file.h"
#include "samplers/bins_2d.h"
#include "streams/input_source.h"

namespace s2s::run {
namespace {

using Json = nlohmann::ordered_json;

struct BinsArguments {
  std::string source;
  std::string tokenizer;
  int64_t num_buckets = 30;
  int64_t sub_buckets = 2;
  int64_t num_samples = 0;  // 0: all
  int64_t seed = 0;
  double min_duration = 0;
  std::optional<double> max_duration;
  double outliers = 4;
};

struct Measured {
  std::vector<data::CutSize> sizes;
  int64_t discarded = 0;
};

int64_t num_tokens(const Cut& cut, const Tokenizer& tokenizer) {
  int64_t count = 0;
  for (const Supervision& turn : cut.supervisions) {
    if (turn.text) count += static_cast<int64_t>(tokenizer.encode(*turn.text).size());
  }
  return count;
}

Measured measure(const BinsArguments& arguments, const Tokenizer* tokenizer, bool quiet) {
  data::allow_commands_of_source(arguments.source);
  const data::StreamPtr stream = arguments.num_samples > 0
                                     ? data::open_sampled_input(arguments.source, arguments.seed)
                                     : data::open_input(arguments.source, true);
  std::ostream nowhere(nullptr);
  Console console(quiet ? nowhere : std::cerr, standard_error_is_terminal(), terminal_width());
  ProgressBar bar(console, {.title = "measuring",
                            .unit = "cuts",
                            .total = arguments.num_samples > 0 ? arguments.num_samples
                                                               : stream->size().value_or(0)});
  Measured measured;
  while (const std::optional<data::CutItem> item = stream->next()) {
    const Cut& cut = *item->cut;
    const double longest = arguments.max_duration.value_or(INFINITY);
    if (cut.duration_s < arguments.min_duration || cut.duration_s > longest) {
      ++measured.discarded;
      continue;
    }
    measured.sizes.push_back({cut.duration_s, tokenizer ? num_tokens(cut, *tokenizer) : 0});
    bar.update(static_cast<int64_t>(measured.sizes.size()));
    if (std::cmp_equal(measured.sizes.size(), arguments.num_samples)) break;
  }
  bar.finish();
  return measured;
}

// Formats a number as Python does.
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

double five_decimals(double value) { return std::nearbyint(value * 1e5) / 1e5; }

std::string listed(const std::vector<std::string>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

void print_notes(const Measured& measured) {
  const size_t total = measured.sizes.size() + static_cast<size_t>(measured.discarded);
  if (measured.discarded > 0) {
    std::printf("Outside the duration limits and skipped: %lld of %zu cuts.\n",
                static_cast<long long>(measured.discarded), total);
  }
  fmt::print("Estimated from {}. For the configuration:\n",
             counted(static_cast<int64_t>(measured.sizes.size()), "cut"));
}

double longest_of(const Measured& measured) {
  double longest = 0;
  for (const data::CutSize& size : measured.sizes) longest = std::max(longest, size.length);
  return longest;
}

void print_bins(const BinsArguments& arguments, const Measured& measured, bool as_json) {
  std::vector<double> lengths;
  for (const data::CutSize& size : measured.sizes) lengths.push_back(size.length);
  std::vector<double> bins = data::estimate_bins(std::move(lengths), arguments.num_buckets);
  for (double& bin : bins) bin = five_decimals(bin);
  if (as_json) {
    const Json json = {{"num_buckets", arguments.num_buckets},
                       {"bucket_duration_bins", bins},
                       {"max_duration", longest_of(measured)},
                       {"used_cuts", measured.sizes.size()},
                       {"discarded_cuts", measured.discarded}};
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::vector<std::string> texts;
  for (const double bin : bins) texts.push_back(number(bin));
  print_notes(measured);
  std::printf("  num_buckets: %lld\n  bucket_duration_bins: %s\n  max_duration: %s\n",
              static_cast<long long>(arguments.num_buckets), listed(texts).c_str(),
              number(longest_of(measured)).c_str());
}

void print_bins_2d(const BinsArguments& arguments, const Measured& measured, bool as_json) {
  const data::Bins bins = data::estimate_bins_2d(
      measured.sizes,
      {arguments.num_buckets, arguments.sub_buckets, arguments.outliers, arguments.max_duration});
  std::vector<std::string> texts;
  std::vector<std::string> ratios;
  for (size_t i = 0; i < bins.lengths.size(); ++i) {
    texts.push_back(fmt::format("[{:.3f},{}]", bins.lengths[i], bins.num_tokens[i]));
    ratios.push_back(fmt::format("{:.2f}", bins.max_ratio[i]));
  }
  if (as_json) {
    const Json json = {{"num_buckets", arguments.num_buckets},
                       {"bucket_duration_bins", Json::parse(listed(texts))},
                       {"max_tps", Json::parse(listed(ratios))},
                       {"used_cuts", measured.sizes.size()},
                       {"discarded_cuts", measured.discarded}};
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  print_notes(measured);
  std::printf(
      "  use_bucketing: true\n"
      "  num_buckets: %lld\n"
      "  bucket_duration_bins: %s\n"
      "To also skip cuts with more tokens per second:\n"
      "  max_tps: %s\n",
      static_cast<long long>(arguments.num_buckets), listed(texts).c_str(), listed(ratios).c_str());
}

int estimate(const BinsArguments& arguments, const Invocation& invocation) {
  std::optional<TokenizerFile> file;
  if (!arguments.tokenizer.empty()) file.emplace(invocation, arguments.tokenizer);
  const Measured measured = measure(arguments, file ? &**file : nullptr,
                                    invocation.json && !standard_error_is_terminal());
  file ? print_bins_2d(arguments, measured, invocation.json)
       : print_bins(arguments, measured, invocation.json);
  return 0;
}

}  // namespace

void setup_data_estimate_bins(const Command& group) {
  const Command command = group.command(
      "estimate-bins",
      "estimate the bounds of duration buckets for a data set (bucket_duration_bins)");
  BinsArguments& arguments = command.runs(estimate);
  command
      .option("source", arguments.source,
              "cuts (.jsonl, .jsonl.gz), a Shar folder, a NeMo manifest (.json), a YAML file with "
              "input_cfg, or KEY=VALUE options of a data set block")
      .required();
  command.option("-b,--num-buckets", arguments.num_buckets, "number of buckets")
      .positive()
      .shows_default();
  command.option("-t,--tokenizer", arguments.tokenizer,
                 "tokenizer.json or .model file; makes buckets of seconds and tokens");
  command
      .option("-s,--sub-buckets", arguments.sub_buckets,
              "with --tokenizer: number of token buckets in each duration bucket")
      .positive()
      .shows_default();
  command
      .option("-n,--num-samples,--num-examples", arguments.num_samples,
              "number of cuts to read, mixed by the weights of the source; 0: all cuts, each once")
      .whole_number();
  command.option("--seed", arguments.seed, "random seed of shuffling and mixing with -n")
      .whole_number();
  command.option("-l,--min-duration", arguments.min_duration, "skip shorter cuts, in seconds")
      .not_negative();
  command.option("-u,--max-duration", arguments.max_duration, "skip longer cuts, in seconds")
      .positive();
  command
      .option("--token-outliers", arguments.outliers,
              "with --tokenizer: skip cuts whose tokens per second exceed the mean of their bucket "
              "by more than this many standard deviations")
      .positive()
      .shows_default();
  add_allow_commands(command);
  command.json("print the bounds as JSON");
}

}  // namespace s2s::run
