#include "mixed_source.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "s2s/registry.h"

namespace s2s::audio_and_text {
namespace {

void require_no_end(const std::string& path, bool repeat) {
  if (repeat) return;
  throw Error(ExitCode::kConfig, "data/mixed-pass",
              path +
                  ".repeat is false, but mixed data has no end: the ranks of a split model take "
                  "batches of one kind together\n  expected: repeat: true; a validation set "
                  "names the source of audio or of text itself, such as name: cuts");
}

std::unique_ptr<DataSource> open(const Config& set, const std::string& key,
                                 const DataContext& context) {
  DataContext own = context;
  own.path = context.path + "." + key;
  if (set.entries().empty()) {
    throw Error(ExitCode::kConfig, "config/missing",
                own.path +
                    " is missing\n  expected: the name and options of a data set; see: "
                    "s2s-run plugin list --kind data");
  }
  const Config* const repeat = set.find("repeat");
  if (repeat != nullptr) require_no_end(own.path, repeat->as_bool(own.path + ".repeat"));
  return context.registries->create<DataSource>(set, own);
}

/// Returns a number in [0, 1), computed from a counter (splitmix64).
double draw(uint64_t seed, uint64_t number) {
  uint64_t z = seed + (number + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-53;
}

Batch joined(Batch audio, Batch text) {
  audio.text_BT = std::move(text.text_BT);
  audio.text_labels_BT = std::move(text.text_labels_BT);
  audio.documents = std::move(text.documents);
  return audio;
}

std::vector<std::string> both(std::vector<std::string> first,
                              const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

MixedSource::MixedSource(MixedOptions options, const DataContext& context)
    : options_(std::move(options)), path_(context.path), seed_(context.seed) {
  const MixWeights& weights = options_.sampler_weights;
  if (!(weights.audio + weights.text > 0)) {
    throw Error(ExitCode::kConfig, "data/mixed-weights",
                path_ + ".sampler_weights are both 0\n  expected: at least one weight above 0");
  }
  require_no_end(path_, options_.repeat);
  audio_ = open(options_.audio, "audio", context);
  text_ = open(options_.text, "text", context);
}

bool MixedSource::is_text(int64_t number) const {
  if (options_.sampler_fusion == "round_robin") return number % 2 == 1;
  const MixWeights& weights = options_.sampler_weights;
  return draw(seed_, static_cast<uint64_t>(number)) * (weights.audio + weights.text) >=
         weights.audio;
}

std::optional<Batch> MixedSource::next() {
  const int64_t number = num_batches_++;
  if (options_.sampler_fusion != "zip") return (is_text(number) ? text_ : audio_)->next();
  std::optional<Batch> audio = audio_->next();
  std::optional<Batch> text = text_->next();
  if (!audio || !text) return std::nullopt;
  return joined(std::move(*audio), std::move(*text));
}

std::string MixedSource::state() const {
  const nlohmann::ordered_json json = {
      {"batches", num_batches_}, {"audio", audio_->state()}, {"text", text_->state()}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void MixedSource::restore(const std::string& state) {
  std::string audio, text;
  num_batches_ = 0;
  if (!state.empty()) {
    try {
      Config saved = parse_json(state, path_);  // limits depth and values
      audio = saved["audio"].as_string("audio");
      text = saved["text"].as_string("text");
      num_batches_ = saved["batches"].as_int("batches");
    } catch (const Error& error) {
      throw Error(ExitCode::kData, "data/state",
                  path_ + ": not a position in mixed data: " + error.message() +
                      "\n  expected: one that a checkpoint of this kind of data saved; start a new "
                      "run");
    }
  }
  audio_->restore(audio);
  text_->restore(text);
}

std::vector<std::string> MixedSource::texts() { return both(audio_->texts(), text_->texts()); }

std::vector<std::string> MixedSource::left_out() const {
  return both(audio_->left_out(), text_->left_out());
}

}  // namespace s2s::audio_and_text
