#include "s2s_run/synth/synth.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "s2s_run/synth/compose.h"
#include "s2s_run/synth/cut_writer.h"
#include "s2s_run/synth/partial_folder.h"
#include "s2s_run/synth/set_description.h"
#include "s2s_run/synth/synth_errors.h"
#include "s2s_run/synth/text_set.h"

namespace s2s::synth {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Increment when the same options give different data.
constexpr int kSetVersion = 1;

Json settings_of(const SetOptions& options) {
  return {{"version", kSetVersion},
          {"size", size_name(options.size)},
          {"seed", options.seed},
          {"sample_rate", options.sample_rate_hz},
          {"audio_format", options.audio_format},
          {"domains", options.domains}};
}

void check(const SetOptions& options) {
  const int64_t rate = options.sample_rate_hz;
  if (rate < 8000 || rate > 48000 || rate % 50 != 0) throw bad_sample_rate(rate);
}

/// The task of a worker: synthesizes a planned cut and writes it. -> its JSON lines.
std::function<std::string(size_t)> cut_task(const SetPlan& plan, const fs::path& folder,
                                            const SetOptions& options) {
  auto composer = std::make_shared<Composer>(options.seed);
  const CutWriter writer(folder, options);
  return [composer, writer, &plan](size_t i) {
    const CutPlan& cut = plan.cuts[i];
    std::string lines;
    const char* suffixes[] = {"", "b"};
    size_t part = 0;
    for (const Dialogue& dialogue : composer->compose(cut)) {
      char number[24];
      std::snprintf(number, sizeof number, "%06zu%s", static_cast<size_t>(cut.index),
                    suffixes[part++]);
      lines += writer.write(cut.split, cut.split + "-" + number, dialogue);
    }
    return lines;
  };
}

void write_manifests(const SetPlan& plan, const std::vector<std::string>& lines,
                     const fs::path& folder, SetSummary& summary) {
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < lines.size(); ++i) files[plan.cuts[i].split] += lines[i];
  double duration_s = 0;
  for (const auto& [split, text] : files) {
    write_file_atomically((folder / (split + ".jsonl")).string(), text);
    std::istringstream in(text);
    for (std::string line; std::getline(in, line); ++summary.cuts[split]) {
      duration_s += parse_foreign_json<Json>(line)["duration"].get<double>();
    }
  }
  summary.hours = std::round(duration_s / 36) / 100;
  std::string texts;
  for (const std::string& text : plan.texts) texts += text + "\n";
  write_file_atomically((folder / "texts.txt").string(), texts);
}

}  // namespace

SetSummary make_set(const fs::path& folder, const SetOptions& options, size_t num_workers,
                    const Progress& progress) {
  if (options.kind == "text") return make_text_set(folder, options);
  check(options);
  const SetPlan plan = make_plan(options);
  const Json settings = settings_of(options);
  SetSummary summary{folder, false, {}, 0};
  if (find_existing(folder, settings, summary)) return summary;

  PartialFolder partial(folder);
  for (const CutPlan& cut : plan.cuts) {
    make_folders((partial.path() / "audio" / cut.split).string());
  }
  if (num_workers == 0) num_workers = std::max(1U, std::thread::hardware_concurrency());
  const auto lines = run_in_workers(
      plan.cuts.size(), num_workers, [&] { return cut_task(plan, partial.path(), options); },
      progress, folder.string());
  write_manifests(plan, lines, partial.path(), summary);
  write_description(partial.path(), settings, summary);
  partial.commit();
  return summary;
}

}  // namespace s2s::synth
