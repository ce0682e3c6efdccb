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
#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Increment when the same options give different data.
constexpr int kSetVersion = 1;

const char* size_name(Size size) {
  switch (size) {
    case Size::kTiny:
      return "tiny";
    case Size::kQuick:
      return "quick";
    case Size::kFull:
      break;
  }
  return "full";
}

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

/// synth.json of a folder; empty if it is missing or was not written by this program.
std::optional<Json> description_of(const fs::path& folder) {
  try {
    Json json = try_parse_foreign_json<Json>(read_small_file(folder / "synth.json"));
    const bool is_whole = json.is_object() && json.contains("settings") && json.contains("hours") &&
                          json["hours"].is_number() && json.contains("cuts") &&
                          json["cuts"].is_object();
    if (!is_whole) return std::nullopt;
    for (const auto& [split, count] : json["cuts"].items()) {
      if (!count.is_number_unsigned()) return std::nullopt;
    }
    return json;
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

/// Reads the summary of an existing set. False when the folder does not exist or is empty.
bool find_existing(const fs::path& folder, const Json& settings, SetSummary& summary) {
  if (!fs::exists(folder)) return false;
  if (fs::is_directory(folder) && fs::is_empty(folder)) return false;
  const std::optional<Json> described = description_of(folder);
  if (!described) throw folder_in_use(folder.string());
  const Json& there = *described;
  if (there["settings"] != settings) {
    throw other_set_there(folder.string(), there["settings"].dump(), settings.dump());
  }
  summary.reused = true;
  summary.cuts = there["cuts"].get<std::map<std::string, size_t>>();
  summary.hours = there["hours"].get<double>();
  return true;
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
  const Json described = {{"made_by", "s2s-run data synth"},
                          {"settings", settings},
                          {"cuts", summary.cuts},
                          {"hours", summary.hours}};
  write_file_atomically((partial.path() / "synth.json").string(), described.dump(2) + "\n");
  partial.commit();
  return summary;
}

}  // namespace s2s::synth
