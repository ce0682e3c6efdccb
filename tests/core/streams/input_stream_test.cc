#include "streams/input_stream.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "common/loader_cases.h"
#include "config/yaml_reader.h"
#include "cuts/cut_files.h"
#include "s2s/data/audio_loader.h"
#include "s2s/data/frames.h"
#include "streams/input_source.h"

using namespace s2s;
using namespace s2s::data;
using loader_cases::Json;

namespace {

InputContext context_of(const Config& config) {
  InputContext context;
  context.path = "ds";
  context.base_dir = loader_cases::folder();
  InputAttributes& a = context.attributes;
  const auto flag = [&](const char* key, bool& value) {
    if (const Config* node = config.find(key)) value = node->as_bool(key);
  };
  const auto text = [&](const char* key, std::string& value) {
    if (const Config* node = config.find(key)) value = node->text();
  };
  const auto number = [&](const char* key, std::optional<int64_t>& value) {
    if (const Config* node = config.find(key)) value = node->as_int(key);
  };
  flag("shuffle", a.shuffle);
  flag("metadata_only", a.metadata_only);
  flag("force_finite", a.force_finite);
  flag("force_iterable_dataset", a.force_iterable_dataset);
  flag("skip_missing_manifest_entries", a.skip_missing_manifest_entries);
  text("text_field", a.text_field);
  text("lang_field", a.lang_field);
  number("slice_length", a.slice_length);
  number("max_open_streams", a.max_open_streams);
  a.shard_seed = config.find("shard_seed")->as_int("shard_seed");
  if (const Config* node = config.find("reweight_temperature")) {
    context.reweight_temperature = *node;
  }
  context.seed = [](const Config& node, const std::string& path) { return node.as_int(path); };
  return context;
}

OpenedInput open_case(const Json& test_case) {
  const Config config = loader_cases::config_of(test_case);
  Findings findings;
  const InputNode node = parse_input(config, context_of(config), findings);
  findings.throw_if_any();
  return open_input_tree(node);
}

std::vector<CutItem> take(CutStream& stream, size_t count) {
  std::vector<CutItem> items;
  while (items.size() < count) {
    std::optional<CutItem> item = stream.next();
    if (!item) break;
    items.push_back(std::move(*item));
  }
  return items;
}

/// Conversations are dialogues here: NeMo's own list of their cuts is compared. Silence after a
/// recording is a track here and part of a new recording there.
Json fields_like(const Json& expected, const Cut& cut) {
  if (!expected.contains("audio")) {
    Json fields = loader_cases::cut_fields(cut);
    if (cut.kind == Cut::Kind::kMixed && expected.contains("custom")) {
      fields["custom"] = loader_cases::custom_fields(cut.tracks[0].cut->custom);
      fields["rate"] = cut.sample_rate_hz();
    }
    return fields;
  }
  Json fields = {{"id", cut.id}, {"audio", Json::array()}, {"seconds", Json::array()}};
  const auto add = [&](const Cut& part) {
    if (part.kind == Cut::Kind::kPadding) return;
    fields["audio"].push_back(part.id == cut.id ? expected["audio"][0] : Json(part.id));
    fields["seconds"].push_back(loader_cases::rounded(part.duration_s));
  };
  if (cut.kind != Cut::Kind::kMixed) add(cut);
  for (const MixTrack& track : cut.tracks) add(*track.cut);
  return fields;
}

}  // namespace

TEST_CASE("what input_cfg and its relatives give is what NeMo gives") {
  for (const Json& test_case : loader_cases::all().at("streams")) {
    const auto name = test_case.at("name").get<std::string>();
    CAPTURE(name);
    const Json& expected = test_case.at("cuts");
    OpenedInput opened = open_case(test_case);
    CHECK(opened.is_tarred == test_case.at("is_tarred").get<bool>());
    const std::vector<CutItem> items = take(*opened.stream, expected.size());
    REQUIRE(items.size() == expected.size());
    for (size_t i = 0; i < items.size(); ++i) {
      CAPTURE(i);
      Json fields = fields_like(expected[i], *items[i].cut);
      if (!expected[i].contains("custom")) fields.erase("custom");
      CHECK(fields == expected[i]);
    }
    if (test_case.at("is_all").get<bool>()) CHECK_FALSE(opened.stream->next().has_value());
  }
}

TEST_CASE("streams of inputs go on from any position and make items from their keys") {
  for (const Json& test_case : loader_cases::all().at("streams")) {
    const auto name = test_case.at("name").get<std::string>();
    CAPTURE(name);
    OpenedInput opened = open_case(test_case);
    const size_t all = take(*opened.stream, 24).size();
    for (const size_t stop : {size_t{0}, size_t{1}, size_t{7}, size_t{20}}) {
      if (stop >= all) continue;
      CAPTURE(stop);
      OpenedInput first = open_case(test_case);
      take(*first.stream, stop);
      const StreamState state = StreamState::parse(first.stream->state().dump());
      const std::vector<CutItem> rest = take(*first.stream, 9);
      OpenedInput second = open_case(test_case);
      second.stream->restore(state);
      const std::vector<CutItem> again = take(*second.stream, 9);
      REQUIRE(rest.size() == again.size());
      for (size_t i = 0; i < rest.size(); ++i) {
        CHECK(rest[i].key == again[i].key);
        const auto made = second.stream->make(rest[i].key);
        CHECK(loader_cases::cut_fields(*made) == loader_cases::cut_fields(*rest[i].cut));
      }
      CHECK(first.stream->fingerprint() == second.stream->fingerprint());
    }
  }
}

TEST_CASE("audio of dialogues that were made of other data can be loaded") {
  AudioLoader loader;
  constexpr int64_t kRate = 8000;
  for (const Json& test_case : loader_cases::all().at("streams")) {
    const auto name = test_case.at("name").get<std::string>();
    const bool is_made = name.starts_with("to_duplex") || name.starts_with("talks") ||
                         name.starts_with("shared") || name.starts_with("reverse");
    if (!is_made) continue;
    CAPTURE(name);
    OpenedInput opened = open_case(test_case);
    for (const CutItem& item : take(*opened.stream, 6)) {
      CAPTURE(item.cut->id);
      const at::Tensor source_S = loader.source(*item.cut, kRate);
      const at::Tensor target_S = loader.target(*item.cut, kRate);
      const int64_t expected = compute_num_samples(item.cut->duration_s, kRate);
      CHECK(source_S.size(0) == expected);
      CHECK(target_S.size(0) == expected);
      CHECK(source_S.abs().max().item<float>() > 0.1F);
      const bool is_silent = target_S.abs().max().item<float>() == 0;
      CHECK(is_silent == !name.starts_with("reverse"));
      if (name == "to_duplex0.25") {
        CHECK(source_S.slice(0, expected - 1900).abs().max().item<float>() == 0);
      }
    }
  }
}

TEST_CASE("a conversation's turns follow each other") {
  const Json& talks = *std::find_if(
      loader_cases::all().at("streams").begin(), loader_cases::all().at("streams").end(),
      [](const Json& test_case) { return test_case.at("name") == "talks"; });
  OpenedInput opened = open_case(talks);
  const CutPtr cut = take(*opened.stream, 2)[1].cut;
  REQUIRE(cut->supervisions.size() == 4);
  double now_s = 0;
  for (size_t i = 0; i < 4; ++i) {
    const Supervision& turn = cut->supervisions[i];
    CHECK(turn.speaker == (i % 2 == 0 ? "user" : "agent"));
    CHECK(turn.start_s == doctest::Approx(now_s));
    if (i % 2 == 1) CHECK(turn.duration_s == doctest::Approx(8 / 15.0));  // "answer 1"
    now_s += turn.duration_s;
  }
  CHECK(cut->duration_s == doctest::Approx(now_s));
}

TEST_CASE("what a command line names is read once, in order") {
  const std::string root = loader_cases::folder();
  const auto ids = [&](const std::string& source) {
    const StreamPtr stream = open_input(root + "/" + source);
    std::string joined;
    while (const auto item = stream->next()) joined += item->cut->id + " ";
    return joined;
  };
  const std::string first =
      "first-0 first-1 first-2 first-3 first-4 first-5 first-6 first-7 first-8 first-9 ";
  const std::string second = "second-0 second-1 second-2 second-3 second-4 second-5 ";
  CHECK(ids("first.jsonl") == first);
  CHECK(ids("shar/first") == first);
  CHECK(ids("nested.yaml") == first + second);
  CHECK(ids("plain.json").starts_with("a0 a1-"));
  CHECK_THROWS_WITH_AS(ids("absent.jsonl"), doctest::Contains("[data/missing-file]"), Error);
}

TEST_CASE("what a command line names has numbered cuts, the same as its stream gives") {
  const std::string root = loader_cases::folder() + "/";
  for (const std::string source :
       {"first.jsonl", "shar/first", "nested.yaml", "plain.json", "duplex.yaml"}) {
    if (!std::filesystem::exists(root + source)) continue;
    const auto rows = open_input_rows(root + source, {});
    const StreamPtr stream = open_input(root + source);
    int64_t row = 0;
    while (const auto item = stream->next()) {
      REQUIRE(row < rows->size());
      CHECK(to_json(rows->cut(row++)) == to_json(*item->cut));
    }
    CHECK_MESSAGE(row == rows->size(), source);
    CHECK(rows->fingerprint() == open_input_rows(root + source, {})->fingerprint());
  }
  CHECK_THROWS_WITH_AS(open_input_rows(root + "absent.yaml", {}), doctest::Contains("[config/"),
                       Error);
}
