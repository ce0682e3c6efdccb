#include "eval/metrics/example_exchange.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "plan/mesh.h"

namespace s2s {
namespace {

using nlohmann::json;
using Bytes = std::vector<uint8_t>;

json to_json(const AudioClip& clip) {
  if (!clip.samples_S.defined()) return nullptr;
  const at::Tensor samples_S = clip.samples_S.to(at::kCPU, at::kFloat).contiguous();
  const auto* const begin = static_cast<const uint8_t*>(samples_S.data_ptr());
  return {json::binary(Bytes(begin, begin + samples_S.nbytes())), clip.sample_rate_hz};
}

AudioClip clip_of(const json& from) {
  if (from.is_null()) return {};
  const Bytes& bytes = from.at(0).get_binary();
  AudioClip clip = {at::empty({static_cast<int64_t>(bytes.size() / sizeof(float))}), from.at(1)};
  std::memcpy(clip.samples_S.data_ptr(), bytes.data(), bytes.size());
  return clip;
}

json to_json(const std::vector<TokenMark>& marks) {
  json out = json::array();
  for (const TokenMark& mark : marks) {
    out.push_back({mark.frame, static_cast<int>(mark.kind), mark.text});
  }
  return out;
}

std::vector<TokenMark> marks_of(const json& from) {
  std::vector<TokenMark> out;
  for (const json& mark : from) {
    out.push_back({mark.at(0), static_cast<TokenMark::Kind>(mark.at(1).get<int>()), mark.at(2)});
  }
  return out;
}

json to_json(const std::optional<std::string>& text) { return text ? json(*text) : json(); }

std::optional<std::string> text_of(const json& from) {
  return from.is_null() ? std::nullopt : std::optional(from.get<std::string>());
}

json to_json(const std::vector<SpeechSegment>& segments) {
  json out = json::array();
  for (const SpeechSegment& segment : segments) out.push_back({segment.start_s, segment.end_s});
  return out;
}

std::vector<SpeechSegment> segments_of(const json& from) {
  std::vector<SpeechSegment> out;
  for (const json& segment : from) out.push_back({segment.at(0), segment.at(1)});
  return out;
}

json to_json(const std::optional<std::vector<SpeechSegment>>& segments) {
  return segments ? to_json(*segments) : json();
}

std::optional<std::vector<SpeechSegment>> maybe_segments_of(const json& from) {
  return from.is_null() ? std::nullopt : std::optional(segments_of(from));
}

json to_json(const std::optional<ExampleSpeech>& speech) {
  if (!speech) return nullptr;
  return {speech->duration_s, to_json(speech->user), to_json(speech->answer),
          to_json(speech->reference), to_json(speech->round_trip)};
}

std::optional<ExampleSpeech> example_speech_of(const json& from) {
  if (from.is_null()) return std::nullopt;
  return ExampleSpeech{from.at(0), segments_of(from.at(1)), maybe_segments_of(from.at(2)),
                       maybe_segments_of(from.at(3)), maybe_segments_of(from.at(4))};
}

json to_json(const std::map<TextSource, std::vector<RecognizedWord>>& heard) {
  json out = json::array();
  for (const auto& [source, words] : heard) {
    json list = json::array();
    for (const RecognizedWord& word : words) {
      list.push_back({word.text, word.start_s, word.end_s});
    }
    out.push_back({static_cast<int>(source), list});
  }
  return out;
}

std::map<TextSource, std::vector<RecognizedWord>> heard_words_of(const json& from) {
  std::map<TextSource, std::vector<RecognizedWord>> out;
  for (const json& entry : from) {
    auto& words = out[static_cast<TextSource>(entry.at(0).get<int>())];
    for (const json& word : entry.at(1)) words.push_back({word.at(0), word.at(1), word.at(2)});
  }
  return out;
}

json to_json(const ReportExample& e) {
  json turns = json::array();
  for (const Turn& turn : e.turns) {
    turns.push_back({turn.is_agent, turn.start_s, turn.end_s, turn.text});
  }
  return {
      {"id", e.id},
      {"set", e.data_set},
      {"batch", e.batch},
      {"turns", turns},
      {"texts",
       {e.texts.reference, to_json(e.texts.text_channel), to_json(e.texts.heard_model),
        to_json(e.texts.heard_reference), to_json(e.texts.heard_round_trip), e.texts.user_reference,
        to_json(e.texts.user_channel)}},
      {"clips", {to_json(e.user), to_json(e.answer), to_json(e.reference), to_json(e.round_trip)}},
      {"heard_words", to_json(e.heard_words)},
      {"speech", to_json(e.speech)},
      {"frame_s", e.frame_s},
      {"marks", {to_json(e.answer_tokens), to_json(e.reference_tokens)}},
      {"numbers", e.numbers}};
}

ReportExample example_of(const json& from) {
  ReportExample e;
  e.id = from.at("id");
  e.data_set = from.at("set");
  e.batch = from.at("batch");
  for (const json& turn : from.at("turns")) {
    e.turns.push_back({turn.at(0), turn.at(1), turn.at(2), turn.at(3)});
  }
  const json& texts = from.at("texts");
  e.texts = {texts.at(0),          text_of(texts.at(1)), text_of(texts.at(2)), text_of(texts.at(3)),
             text_of(texts.at(4)), texts.at(5),          text_of(texts.at(6))};
  const json& clips = from.at("clips");
  e.user = clip_of(clips.at(0));
  e.answer = clip_of(clips.at(1));
  e.reference = clip_of(clips.at(2));
  e.round_trip = clip_of(clips.at(3));
  e.heard_words = heard_words_of(from.at("heard_words"));
  e.speech = example_speech_of(from.at("speech"));
  e.frame_s = from.at("frame_s");
  e.answer_tokens = marks_of(from.at("marks").at(0));
  e.reference_tokens = marks_of(from.at("marks").at(1));
  e.numbers = from.at("numbers").get<std::map<std::string, double>>();
  return e;
}

Bytes to_bytes(const std::vector<ReportExample>& examples) {
  json all = json::array();
  for (const ReportExample& example : examples) all.push_back(to_json(example));
  return json::to_cbor(all);
}

void send(Communicator& world, const Bytes& bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  world.send(at::full({1}, size, at::kLong).to(world.device_type()), 0, "examples").wait();
  const at::Tensor content =
      at::from_blob(const_cast<uint8_t*>(bytes.data()), {size}, at::kByte).clone();
  if (size > 0) world.send(content.to(world.device_type()), 0, "examples").wait();
}

Bytes receive(Communicator& world, int64_t rank) {
  const auto options = at::TensorOptions(world.device_type());
  const at::Tensor size = at::empty({1}, options.dtype(at::kLong));
  world.recv(size, rank, "examples").wait();
  const at::Tensor content = at::empty({size.item<int64_t>()}, options.dtype(at::kByte));
  if (content.numel() > 0) world.recv(content, rank, "examples").wait();
  const at::Tensor here = content.cpu();
  const auto* const begin = here.data_ptr<uint8_t>();
  return {begin, begin + here.numel()};
}

bool is_first_of_its_data(const MeshShape& mesh, int64_t rank) {
  const MeshPosition position = position_in_mesh(mesh, rank);
  return position.pipeline == 0 && position.context == 0 && position.tensor == 0;
}

void add_examples(const Bytes& bytes, std::vector<ReportExample>& examples) {
  const json theirs = json::from_cbor(bytes);
  for (const json& example : theirs) examples.push_back(example_of(example));
}

/// Restores the order in which a single process validates the examples.
void put_in_order(std::vector<ReportExample>& examples) {
  std::stable_sort(examples.begin(), examples.end(),
                   [](const ReportExample& a, const ReportExample& b) {
                     return std::tie(a.batch, a.data_set) < std::tie(b.batch, b.data_set);
                   });
}

}  // namespace

void gather_examples(Communicator& world, const MeshShape& mesh,
                     std::vector<ReportExample>& examples) {
  if (world.rank() > 0) {
    if (is_first_of_its_data(mesh, world.rank())) send(world, to_bytes(examples));
    examples.clear();
    return;
  }
  for (int64_t rank = 1; rank < world.size(); ++rank) {
    if (!is_first_of_its_data(mesh, rank)) continue;
    add_examples(receive(world, rank), examples);
  }
  put_in_order(examples);
}

void share_examples(ParallelStrategy& strategy, std::vector<ReportExample>& examples) {
  if (strategy.mesh().data_size() == 1) return;
  const Bytes mine = to_bytes(examples);
  examples.clear();
  for (const std::string& theirs : strategy.gather_texts(std::string(mine.begin(), mine.end()))) {
    add_examples(Bytes(theirs.begin(), theirs.end()), examples);
  }
  put_in_order(examples);
}

}  // namespace s2s
