#include "loader/cut_batches.h"

#include <doctest/doctest.h>

#include "common/loader_cases.h"
#include "common/temporary_folder.h"
#include "config/yaml_reader.h"
#include "core/loader/letter_tokenizer.h"

using namespace s2s;
using namespace s2s::data;
using loader_cases::Json;

namespace {

CutBatchesContext context_of(bool is_endless = true) {
  CutBatchesContext context;
  context.path = "data.train_ds";
  context.base_dir = loader_cases::folder();
  context.allow_infinite = is_endless;
  return context;
}

std::unique_ptr<CutBatches> open_case(const Json& test_case) {
  static const test::LetterTokenizer kLetters;
  CutBatchesContext context = context_of();
  if (test_case.at("letters").get<bool>()) context.tokenizer = &kLetters;
  return open_cut_batches(loader_cases::config_of(test_case), context);
}

std::unique_ptr<CutBatches> open_text(const std::string& yaml, bool is_endless = true) {
  return open_cut_batches(parse_yaml(yaml, "c.yaml"), context_of(is_endless));
}

std::vector<std::string> ids_of(const BatchOfCuts& batch) {
  std::vector<std::string> ids;
  for (const BatchRow& row : batch.rows) {
    for (const BatchedCut& cut : row.cuts) ids.push_back(cut.cut->id);
  }
  return ids;
}

std::string joined(const BatchOfCuts& batch) {
  std::string text;
  for (const std::string& id : ids_of(batch)) text += id + " ";
  return text;
}

/// What a batch says, with cuts made from their keys.
Json fields_of(const CutBatches& batches, const BatchOfCuts& batch) {
  Json rows = Json::array();
  for (const BatchRow& row : batch.rows) {
    for (const BatchedCut& cut : row.cuts) {
      const auto made = batches.make(cut.key);
      rows.push_back(loader_cases::cut_fields(*made));
      rows.back()["frame"] = cut.first_frame;
      if (cut.cut) CHECK(loader_cases::cut_fields(*cut.cut) == loader_cases::cut_fields(*made));
    }
  }
  return {{"rows", rows}, {"bucket", batch.bucket}, {"epoch", batch.epoch}};
}

/// Without the rooms that lhotse draws.
Json transforms_of(const Cut& cut) {
  Json transforms = Json::array();
  if (!cut.recording) return transforms;
  for (const AudioTransform& transform : cut.recording->transforms) {
    transforms.push_back(
        {{"name", transform.name}, {"kwargs", Json::parse(transform.kwargs.text)}});
  }
  return transforms;
}

/// Lhotse draws some ids: those are not compared, nor those of the tracks.
void check_cut(const Json& expected, const Cut& cut) {
  Json fields = loader_cases::cut_fields(cut);
  if (expected.at("id").get<std::string>().empty()) fields["id"] = "";
  CHECK(fields["id"] == expected["id"]);
  CHECK(fields["duration"] == expected["duration"]);
  CHECK(fields["turns"] == expected["turns"]);
  CHECK(transforms_of(cut) == expected.value("transforms", Json::array()));
  if (!expected.contains("tracks")) return;
  REQUIRE(cut.tracks.size() == expected["tracks"].size());
  for (size_t i = 0; i < cut.tracks.size(); ++i) {
    const Json& track = expected["tracks"][i];
    CHECK(loader_cases::rounded(cut.tracks[i].offset_s) == track["offset"]);
    CHECK(loader_cases::rounded(cut.tracks[i].cut->duration_s) == track["duration"]);
    CHECK(loader_cases::rounded(cut.tracks[i].cut->start_s) == track["start"]);
    const Json snr =
        cut.tracks[i].snr_db ? Json(loader_cases::rounded(*cut.tracks[i].snr_db)) : Json();
    CHECK(snr == track["snr"]);
  }
}

}  // namespace

TEST_CASE("batches are NeMo's for its options, pass after pass") {
  for (const Json& test_case : loader_cases::all().at("samplers")) {
    const auto name = test_case.at("name").get<std::string>();
    CAPTURE(name);
    const auto batches = open_case(test_case);
    int64_t epoch = 0;
    for (const Json& pass : test_case.at("passes")) {
      for (const Json& expected : pass.at("batches")) {
        const auto batch = batches->next();
        REQUIRE(batch.has_value());
        REQUIRE(batch->epoch == epoch);
        std::string ids;
        for (const Json& cut : expected) ids += cut.at("id").get<std::string>() + " ";
        CAPTURE(ids);
        CAPTURE(joined(*batch));
        CHECK(batch->rows.size() == expected.size());
        if (batch->rows.size() != expected.size()) continue;
        for (size_t i = 0; i < expected.size(); ++i) {
          CAPTURE(i);
          check_cut(expected[i], *batch->rows[i].cuts.at(0).cut);
        }
      }
      ++epoch;
    }
  }
}

TEST_CASE("batches go on from any position, with the same bytes") {
  for (const Json& test_case : loader_cases::all().at("samplers")) {
    const auto name = test_case.at("name").get<std::string>();
    CAPTURE(name);
    // Buckets fill a buffer of ten thousand each time.
    const bool is_slow =
        test_case.at("config").dump().find("bucket_buffer_size") != std::string::npos;
    for (const int stop : is_slow ? std::vector<int>{3} : std::vector<int>{0, 1, 3, 7}) {
      CAPTURE(stop);
      const auto first = open_case(test_case);
      for (int i = 0; i < stop; ++i) first->next();
      const std::string state = first->state();
      const auto second = open_case(test_case);
      CHECK(second->fingerprint() == first->fingerprint());
      second->restore(state);
      CHECK(second->state() == state);
      for (int i = 0; i < 5; ++i) {
        CHECK(fields_of(*first, *first->next()) == fields_of(*second, *second->next()));
      }
      if (is_slow) continue;
      second->restore("");
      const auto third = open_case(test_case);
      CHECK(fields_of(*second, *second->next()) == fields_of(*third, *third->next()));
    }
  }
}

TEST_CASE("packed rows name their cuts and frames") {
  const std::string yaml =
      "{cuts_path: first.jsonl, batch_size: 2, shuffle: true, seed: 3, keep: fail,"
      " concatenate: {max_duration: 1.2, gap: 0.08, open_sequences: 2}}";
  const auto batches = open_text(yaml);
  size_t count = 0;
  for (auto batch = batches->next(); batch->epoch == 0; batch = batches->next()) {
    for (const BatchRow& row : batch->rows) {
      CHECK(row.num_frames <= 15);
      int64_t end = -1;
      for (const BatchedCut& cut : row.cuts) {
        CHECK(cut.first_frame > end);
        end = cut.first_frame + static_cast<int64_t>(cut.cut->duration_s / 0.08);
        CHECK(batches->make(cut.key)->id == cut.cut->id);
        ++count;
      }
    }
  }
  CHECK(count == 10);
  const auto again = open_text(yaml);
  again->next();
  const std::string state = again->state();
  const auto restored = open_text(yaml);
  restored->restore(state);
  for (int i = 0; i < 6; ++i) {
    CHECK(fields_of(*again, *again->next()) == fields_of(*restored, *restored->next()));
  }
}

TEST_CASE("several sets are fused as their block says") {
  const std::string sets =
      " a: {cuts_path: first.jsonl, batch_size: 2}, b: {cuts_path: second.jsonl, batch_size: 1}}";
  const auto turns = open_text("{multi_config: true, seed: 1, shuffle: false, " + sets);
  CHECK(joined(*turns->next()) == "first-0 first-1 ");
  CHECK(joined(*turns->next()) == "second-0 ");
  CHECK(joined(*turns->next()) == "first-2 first-4 ");
  const auto zipped = open_text("{multi_config: true, sampler_fusion: zip, " + sets);
  CHECK(joined(*zipped->next()) == "first-0 first-1 second-0 ");
  const auto drawn = open_text(
      "{multi_config: true, sampler_fusion: randomized_round_robin, sampler_weights: {a: 0, b: "
      "1}, " +
      sets);
  CHECK(joined(*drawn->next()) == "first-0 first-1 ");  // lhotse begins with the first
  CHECK(joined(*drawn->next()) == "second-0 ");
  CHECK(joined(*drawn->next()) == "second-1 ");
  CHECK_THROWS_WITH_AS(open_text("{multi_config: true, batch_size: 3}"),
                       doctest::Contains("multi_config without a set"), Error);
}

TEST_CASE("one pass ends, and cuts can be looked at one by one") {
  const auto batches =
      open_text("{shar_path: [shar/first, shar/second], batch_size: 4, keep: fail}",
                /*is_endless=*/false);
  size_t count = 0;
  while (const auto batch = batches->next()) count += batch->rows.size();
  CHECK(count == 16);
  CHECK_FALSE(batches->next().has_value());
  const std::string end = batches->state();
  batches->restore(end);
  CHECK_FALSE(batches->next().has_value());
  std::string ids;
  batches->visit_cuts([&](const Cut& cut) {
    ids += cut.id + " ";
    return cut.id != "second-1";
  });
  CHECK(ids ==
        "first-0 first-1 first-2 first-3 first-4 first-5 first-6 first-7 first-8 first-9 "
        "second-0 second-1 ");
}

TEST_CASE("seeds are numbers, the run's, or drawn") {
  const std::string yaml =
      "cuts_path: first.jsonl, batch_size: 3, shuffle: true, "
      "shuffle_buffer_size: 5";
  const auto first_ids = [&](const std::string& seeds, CutBatchesContext context) {
    const auto batches = open_cut_batches(parse_yaml("{" + yaml + seeds + "}", "c.yaml"), context);
    return joined(*batches->next()) + joined(*batches->next());
  };
  CutBatchesContext context = context_of();
  context.seed = 5;
  CutBatchesContext other = context;
  other.draw_entropy = [] { return uint64_t{5}; };
  CHECK(first_ids("", context) == first_ids(", seed: 5", context_of()));
  CHECK(first_ids("", context) == first_ids(", shard_seed: trng", other));
  CHECK(first_ids("", context) == first_ids(", seed: randomized", context));
  CHECK(first_ids("", context) != first_ids(", shard_seed: 6", context));
  other.seed_shift = 1;
  CHECK(first_ids("", other) == first_ids(", shard_seed: 6", context));
}

TEST_CASE("other texts of a cut have another form than those that can be read") {
  const test::TemporaryFolder dir;
  std::ifstream file(loader_cases::folder() + "/translated.jsonl");
  std::string line;
  std::getline(file, line);
  const auto open = [&](const std::string& alt_text) {
    Json cut = Json::parse(line);
    cut["custom"]["alt_text"] = Json::parse(alt_text);
    return open_text("{batch_size: 1, cuts_path: " + dir.write("a.jsonl", cut.dump() + "\n") + "}");
  };
  for (const char* wrong : {"\"hola\"", R"({"es": "hola"})", R"({"es": {"text": "hola"}})",
                            R"({"es": {"text": 3, "lang": "es"}})"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH_AS(open(wrong)->next(), doctest::Contains("[data/alt-text]"), Error);
  }
  const auto good = open(R"({"es": {"text": "hola", "lang": null}})");
  good->next();
  CHECK(good->next()->rows[0].cuts[0].cut->supervisions[0].text == "hola");
}

TEST_CASE("mistakes in a block are reported together") {
  const auto message = [](const std::string& yaml) {
    try {
      open_text(yaml);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(message("{batch_size: 3}"), "[data/cuts-path] data.train_ds specifies no data");
  has(message("{cuts_path: first.jsonl}"), "[data/batch-size]");
  has(message("{cuts_path: first.jsonl, batch_sise: 3}"), "batch_size");
  has(message("{cuts_path: first.jsonl, batch_size: 3, seed: often}"), "[data/seed]");
  has(message("{cuts_path: first.jsonl, batch_size: 3, max_tps: 9}"), "[data/no-tokenizer]");
  has(message("{cuts_path: first.jsonl, batch_size: 3, bucket_duration_bins: [3, [1, 2]]}"),
      "[data/bins]");
  has(message("{batch_size: 1, input_cfg: [{type: txt, paths: x}]}"),
      "text without audio, which has a data set of its own beside this one");
  has(message("{batch_size: 1, input_cfg: [{type: lhotse_sharr, shar_path: x}]}"),
      "did you mean lhotse_shar?");
  has(message("{batch_size: 1, input_cfg: [{type: lhotse, cuts_path: a, weight: 1},"
              " {type: lhotse, cuts_path: b}]}"),
      "[data/weights]");
  has(message("{batch_size: 1, input_cfg: [{type: lhotse, cuts_path: first.jsonl},"
              " {type: lhotse_shar, shar_path: shar/first}]}"),
      "[data/input-mixed]");
  has(message("{batch_size: 1, reweight_temperature: [1, 2], input_cfg:"
              " [{type: lhotse, cuts_path: first.jsonl}]}"),
      "2 temperatures for 1 levels");
  has(message("{batch_size: 1, manifest_filepath: 'tarred/manifest_{0..3}.json',"
              " tarred_audio_filepaths: 'tarred/audio_{0..2}.tar'}"),
      "[data/nemo-shards]");
  has(message("{batch_size: 1, input_cfg: absent.yaml}"), "absent.yaml");
  has(message("{batch_size: 1, cuts_path: first.jsonl, concatenate: {max_duration: 2},"
              " rir_enabled: true}"),
      "[data/options]");
  const auto empty = open_text("{batch_size: 1, cuts_path: first.jsonl, min_duration: 100}");
  CHECK_THROWS_WITH_AS(empty->next(), doctest::Contains("[data/empty]"), Error);
  const auto endless = open_text("{batch_size: 1, shar_path: shar/first, min_duration: 100}");
  CHECK_THROWS_WITH_AS(endless->next(), doctest::Contains("[data/empty]"), Error);
  const auto good = open_text("{batch_size: 1, cuts_path: first.jsonl}");
  CHECK_THROWS_WITH_AS(good->restore("z:AAAA"), doctest::Contains("[data/state]"), Error);
}
