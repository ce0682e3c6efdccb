#include "eval/report/listening_report.h"

#include <array>
#include <cstring>
#include <numeric>

#include "base/text.h"
#include "eval/report/report_files.h"
#include "eval/report/report_json.h"
#include "eval/report/training_curves.h"
#include "train/train_errors.h"

namespace s2s {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kScripts = {"dom.js",   "scores.js", "curves.js", "player.js",
                                 "stage.js", "detail.js", "table.js",  "main.js"};

struct NamedClip {
  const char* name;
  AudioClip ReportExample::*clip;
};
constexpr std::array<NamedClip, 4> kClips = {{{"user", &ReportExample::user},
                                              {"answer", &ReportExample::answer},
                                              {"round_trip", &ReportExample::round_trip},
                                              {"reference", &ReportExample::reference}}};

/// Returns the id as part of a file name. The example's number makes the name unique.
std::string file_stem(size_t number, const std::string& id) {
  std::string digits = std::to_string(number);
  digits.insert(0, digits.size() < 4 ? 4 - digits.size() : 0, '0');
  std::string name = id.substr(0, 80);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-') c = '_';
  }
  return digits + "_" + name;
}

/// Returns a rank for examples to listen to first: more word errors first, then missing answers.
double badness(const ExampleMeasures& measures) {
  const auto& spoken = measures.text(TextSource::kModelAudio);
  const auto& written = measures.text(TextSource::kTextChannel);
  const auto& text = spoken ? spoken : written;
  double sum = text && std::isfinite(text->words.rate()) ? text->words.rate() : 0;
  if (!measures.turn_taking) return sum;
  const DuplexCounts& turns = *measures.turn_taking;
  return sum + 0.5 * static_cast<double>(turns.turn_ends - turns.takeovers) +
         0.25 * static_cast<double>(turns.pauses_spoken + turns.false_starts);
}

/// Replaces one occurrence of "{{name}}".
void fill(std::string& page, const std::string& name, std::string_view text) {
  const std::string mark = "{{" + name + "}}";
  const size_t at = page.find(mark);
  S2S_ASSERT(at != std::string::npos, "the page has a place for every part");
  page.replace(at, mark.size(), text);
}

std::pair<std::string, std::string> split_at(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  S2S_ASSERT(at != std::string_view::npos, "the page has a place for every part");
  return {std::string(text.substr(0, at)), std::string(text.substr(at + mark.size()))};
}

Json summary_json(const ReportSummary& summary, const ReportOptions& options) {
  Json out = {{"title", summary.title}, {"frame_s", options.frame_s}};
  out["highest_hz"] = kSpectrogramTop_hz;
  out["facts"] = Json::array();
  for (const auto& [name, value] : summary.facts) out["facts"].push_back({name, value});
  out["notes"] = summary.notes;
  out["curves"] = Json::array();
  if (summary.metrics_path.empty()) return out;
  for (const Curve& curve : read_curves(summary.metrics_path)) {
    out["curves"].push_back(curve_json(curve));
  }
  return out;
}

}  // namespace

ListeningReport::ListeningReport(std::filesystem::path folder, ReportOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  std::error_code error;
  std::filesystem::create_directories(folder_ / "wav", error);
  if (error) throw report_write_error(folder_.string(), error.message());
  const std::filesystem::path path = folder_ / "predictions.jsonl";
  predictions_.open(path, std::ios::trunc);
  if (!predictions_) throw report_write_error(path.string(), std::strerror(errno));
}

DataSetBoard& ListeningReport::board_of(const std::string& data_set) {
  for (const auto& board : boards_) {
    if (board->name() == data_set) return *board;
  }
  boards_.push_back(std::make_unique<DataSetBoard>(data_set, options_.metrics));
  return *boards_.back();
}

std::map<std::string, std::string> ListeningReport::write_clips(
    const ReportExample& example) const {
  std::map<std::string, std::string> files;
  const std::string stem = file_stem(entries_.size(), example.id);
  for (const auto& [name, member] : kClips) {
    const AudioClip& clip = example.*member;
    if (!clip.samples_S.defined()) continue;
    const std::string file = "wav/" + stem + "." + name + ".wav";
    write_bytes(folder_ / file, encode_audio(clip, AudioEncoding::kWav));
    files[name] = file;
  }
  return files;
}

std::string ListeningReport::media_json(const ReportExample& example) const {
  Json media = Json::object();
  for (const auto& [name, member] : kClips) {
    const AudioClip& clip = example.*member;
    if (!clip.samples_S.defined() || clip.samples_S.numel() == 0) continue;
    Json& out = media[name];
    out["audio"] = data_uri("audio/ogg", encode_audio(clip, AudioEncoding::kOggVorbis));
    out["picture"] = data_uri("image/png", spectrogram_png(clip));
    out["seconds"] =
        static_cast<double>(clip.samples_S.numel()) / static_cast<double>(clip.sample_rate_hz);
  }
  return html_safe(media);
}

ExampleMeasures ListeningReport::add(const ReportExample& given) {
  ReportExample example = given;
  ExampleMeasures measures = measure(example);
  DataSetBoard alone(example.data_set, options_.metrics);
  alone.add(example, measures.speech);
  for (const auto& [name, value] : alone.listed_numbers()) example.numbers[name] = value;
  board_of(example.data_set).add(example, measures.speech);
  const auto files = write_clips(example);
  predictions_ << prediction_json(example, measures, alone.voices_json(), files)
                      .dump(-1, ' ', false, Json::error_handler_t::replace)
               << "\n";
  Json json = example_json(example, measures);
  json["files"] = files;
  json["badness"] = badness(measures);
  entries_.push_back({html_safe(json), media_json(example), badness(measures)});
  return measures;
}

std::vector<bool> ListeningReport::choose_embedded() const {
  std::vector<size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return entries_[a].badness > entries_[b].badness; });
  std::vector<bool> chosen(entries_.size(), entries_.size() <= options_.max_embedded);
  if (entries_.size() <= options_.max_embedded) return chosen;
  const size_t worst = options_.max_embedded / 2;
  const size_t spread = options_.max_embedded - worst;
  for (size_t i = 0; i < worst; ++i) chosen[order[i]] = true;
  for (size_t i = 0; i < spread; ++i) {
    chosen[order[worst + i * (order.size() - worst) / spread]] = true;
  }
  return chosen;
}

std::string ListeningReport::page(const ReportSummary& summary) const {
  Json data = summary_json(summary, options_);
  data["tables"] = Json::array();
  for (const auto& board : boards_) data["tables"].push_back(table_json(board->table()));
  for (const ScoreTable& table : summary.extra_tables) data["tables"].push_back(table_json(table));

  const std::vector<bool> embedded = choose_embedded();
  std::string examples;
  std::string media;
  for (size_t i = 0; i < entries_.size(); ++i) {
    examples += (i == 0 ? "" : ",\n") + entries_[i].example;
    if (!embedded[i]) continue;
    media += "<script type=\"application/json\" id=\"media-" + std::to_string(i) + "\">" +
             entries_[i].media + "</script>\n";
  }
  std::string scripts;
  for (const char* name : kScripts) scripts.append(report_file(name)).append("\n");

  // Search for marks only in the page template, never in the text of an example.
  auto [head, rest] = split_at(report_file("page.html"), "{{data}}");
  auto [middle, tail] = split_at(rest, "{{media}}");
  fill(head, "title", escape_html(summary.title));
  fill(head, "style", report_file("style.css"));
  fill(middle, "script", scripts);
  // The browser shows the page before it has read the audio and pictures below.
  return head + "<script type=\"application/json\" id=\"report-data\">" + html_safe(data) +
         "</script>\n<script type=\"application/json\" id=\"report-examples\">[" + examples +
         "]</script>\n" + middle + media + tail;
}

std::filesystem::path ListeningReport::finish(const ReportSummary& summary) {
  predictions_.flush();
  if (!predictions_) {
    throw report_write_error((folder_ / "predictions.jsonl").string(), std::strerror(errno));
  }
  Json scores = Json::object();
  for (const auto& board : boards_) scores[board->name()] = board->to_json();
  write_bytes(folder_ / "scores.json", scores.dump(2) + "\n");
  const std::filesystem::path path = folder_ / "index.html";
  const std::filesystem::path unfinished = folder_ / "index.html.unfinished";
  write_bytes(unfinished, page(summary));
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  if (error) throw report_write_error(path.string(), error.message());
  return path;
}

}  // namespace s2s
