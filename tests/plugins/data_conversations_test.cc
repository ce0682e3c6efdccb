// Batches against NeMo's loader and SALMDataset (tests/reference/nemo_conversations.py).

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "conversations/prompt_source.h"
#include "core/duplex/data_files.h"
#include "plugins/data_conversations/nemo_tokenizer.h"
#include "s2s/data/conversation_source.h"
#include "s2s/error.h"
#include "s2s/kinds/backbone.h"

using namespace s2s;
using namespace s2s::test;
using nlohmann::json;

namespace {

json nested(const at::Tensor& rows) {
  json out = json::array();
  const at::Tensor host = rows.to(at::kLong).contiguous();
  for (int64_t b = 0; b < host.size(0); ++b) {
    const auto* row = host[b].const_data_ptr<int64_t>();
    out.push_back(std::vector<int64_t>(row, row + host.size(1)));
  }
  return out;
}

std::string named(std::string text) {
  const size_t at = text.find(reference_data());
  return at == std::string::npos ? text : text.replace(at, reference_data().size(), "{data}");
}

void check_batch(const Batch& batch, const json& wanted) {
  std::vector<std::string> ids;
  for (const std::string& id : batch.ids) ids.push_back(named(id));
  CHECK(ids == wanted.at("ids").get<std::vector<std::string>>());
  CHECK(nested(batch.others.at("input_ids")) == wanted.at("input_ids"));
  CHECK(nested(batch.others.at("loss_mask")) == wanted.at("loss_mask"));
  const at::Tensor& lens = batch.others.at("audio_lens");
  const auto* first = lens.const_data_ptr<int64_t>();
  CHECK(std::vector<int64_t>(first, first + lens.numel()) ==
        wanted.at("audio_lens").get<std::vector<int64_t>>());
  const at::Tensor& audios = batch.others.at("audios");
  REQUIRE(static_cast<size_t>(audios.size(0)) == wanted.at("audio_energy").size());
  for (int64_t a = 0; a < audios.size(0); ++a) {
    const double energy = wanted.at("audio_energy")[static_cast<size_t>(a)];
    CHECK(audios[a].square().sum().item<double>() == doctest::Approx(energy).epsilon(1e-4));
  }
}

const json& with_id(const json& batches, const std::string& id) {
  const auto found = std::find_if(batches.begin(), batches.end(),
                                  [&](const json& batch) { return batch.at("ids").front() == id; });
  REQUIRE(found != batches.end());
  return *found;
}

/// Conversations in a folder of their own.
struct Talks {
  Talks(const std::string& lines, const std::string& format) {
    write_audio(dir / "a.wav", 16000, ramp(8000));
    write_text(dir / "talks.jsonl", lines);
    options = parse_json(
        json({{"input_cfg",
               {{{"type", "multimodal_conversation"}, {"manifest_filepath", "talks.jsonl"}}}},
              {"prompt_format", format},
              {"audio_locator_tag", "<audio>"},
              {"batch_size", 2},
              {"num_workers", 0}})
            .dump(),
        "train_ds");
    tokenizer =
        nemo_tokenizer(plugins, "hf_tokenizer_qwen2.json", {{"eos", 902}, {"pad", 900}}, "<audio>");
    context.path = "data.train_ds";
    context.base_dir = dir.path().string();
    context.tokenizer = tokenizer.get();
    context.warn = [this](const std::string& line) { warnings.push_back(line); };
  }
  std::unique_ptr<DataSource> open() {
    return open_conversation_source(options, known_prompt_formats(plugins.registries()), context);
  }
  std::string failure() {
    try {
      open()->next();
    } catch (const Error& error) {
      return error.id() + ": " + error.message();
    }
    return "";
  }

  TemporaryFolder dir;
  BuiltPlugins plugins;
  std::unique_ptr<Tokenizer> tokenizer;
  DataContext context;
  Config options;
  std::vector<std::string> warnings;
};

const char* const kTalks =
    R"({"id": "t0", "conversations": [{"from": "User", "type": "audio", "value": "a.wav"}, )"
    R"({"from": "Assistant", "type": "text", "value": "yes"}]})"
    "\n"
    R"({"id": "t1", "conversations": [{"from": "User", "type": "text", "value": "hi"}, )"
    R"({"from": "Assistant", "type": "text", "value": "ho"}]})"
    "\n"
    R"({"id": "t2", "conversations": [{"from": "User", "type": "text", "value": "so"}, )"
    R"({"from": "Assistant", "type": "text", "value": "it is"}]})"
    "\n";

}  // namespace

TEST_CASE("batches of conversations are those of NeMo's loader and data set") {
  BuiltPlugins plugins;
  const std::string folder = reference_data() + "/nemo_conversations";
  std::ifstream file(folder + "/cases.json");
  const json root = json::parse(file);
  for (const json& wanted : root.at("cases")) {
    CAPTURE(wanted.at("name").get<std::string>());
    const auto tokenizer =
        nemo_tokenizer(plugins, wanted.at("tokenizer"), wanted.at("special"), root.at("tag"));
    json config = wanted.at("config");
    config["repeat"] = false;
    config["num_workers"] = 2;
    DataContext context;
    context.path = "data.train_ds";
    context.base_dir = folder;
    context.tokenizer = tokenizer.get();
    const Config data = parse_json(R"({"source_sample_rate": 8000})", "data");
    context.data = &data;
    const auto source = open_conversation_source(
        parse_json(config.dump(), "train_ds"), known_prompt_formats(plugins.registries()), context);
    const json& batches = wanted.at("batches");
    for (size_t i = 0; i < batches.size(); ++i) {
      const auto found = source->next();
      REQUIRE(found);
      // Copies of NeMo's token constraint share their counts, so that it takes other buckets for
      // full than ours: the batches of buckets are the same, and their order is not.
      check_batch(*found, config.contains("use_bucketing") ? with_id(batches, found->ids.front())
                                                           : batches[i]);
    }
    CHECK_FALSE(source->next());
  }
}

TEST_CASE("a restored source of conversations goes on with the same batches") {
  Talks talks(kTalks, "qwen");
  talks.options["shuffle"] = Config::scalar("true");
  const auto source = talks.open();
  for (int i = 0; i < 3; ++i) REQUIRE(source->next());
  const std::string state = source->state();
  const auto next = source->next();
  const auto other = talks.open();
  other->restore(state);
  const auto same = other->next();
  REQUIRE(same);
  CHECK(same->ids == next->ids);
  CHECK(at::equal(same->others.at("input_ids"), next->others.at("input_ids")));
  CHECK(talks.warnings.empty());
}

TEST_CASE("text that has the tag, or no format, is refused") {
  const char* const tagged =
      R"({"id": "t0", "conversations": [{"from": "User", "type": "text", "value": "a <audio>"}, )"
      R"({"from": "Assistant", "type": "text", "value": "yes"}]})"
      "\n";
  const std::string two_places = Talks(tagged, "qwen").failure();
  CHECK(contains(two_places, "data/prompt-turns"));
  CHECK(contains(two_places, "talks.jsonl:1"));
  CHECK(contains(two_places, "contains the tag <audio>"));
  CHECK(contains(two_places, "0 audio turns"));
  CHECK(contains(Talks(kTalks, "chatml").failure(), "data/prompt-format"));
  Talks tokens(kTalks, "qwen");
  tokens.options["use_multimodal_sampling"] = Config::scalar("true");
  CHECK(contains(tokens.failure(), "data/token-duration"));
}

TEST_CASE("skip_bad leaves conversations out") {
  const std::string missing =
      R"({"id": "bad", "conversations": [{"from": "User", "type": "audio", "value": "no.wav"}, )"
      R"({"from": "Assistant", "type": "text", "value": "yes"}]})"
      "\n";
  Talks talks(missing + kTalks, "qwen");
  talks.options["skip_bad"] = Config::scalar("1");
  talks.options["repeat"] = Config::scalar("false");
  const auto source = talks.open();
  size_t num_rows = 0;
  while (const auto batch = source->next()) num_rows += batch->ids.size();
  CHECK(num_rows == 3);
  CHECK(source->left_out().size() == 1);
}

TEST_CASE("prompts for answers are those that NeMo makes, with turns that are added") {
  BuiltPlugins plugins;
  const std::string folder = reference_data() + "/nemo_conversations";
  std::ifstream file(folder + "/answers.json");
  const json root = json::parse(file);
  for (const json& wanted : root.at("cases")) {
    CAPTURE(wanted.at("format").get<std::string>());
    CAPTURE(wanted.at("system").get<std::string>());
    const auto tokenizer =
        nemo_tokenizer(plugins, wanted.at("tokenizer"), wanted.at("special"), root.at("tag"));
    const json block = {{"input_cfg", {wanted.at("entry")}},
                        {"prompt_format", wanted.at("format")},
                        {"audio_locator_tag", root.at("tag")},
                        {"sample_rate", 8000},
                        {"batch_size", 4},
                        {"repeat", false}};
    DataContext context;
    context.path = "--input";
    context.base_dir = folder;
    context.tokenizer = tokenizer.get();
    const auto source = data::open_prompt_source(parse_json(block.dump(), "block"),
                                                 known_prompt_formats(plugins.registries()),
                                                 {wanted.at("system"), wanted.at("user")}, context);
    size_t row = 0;
    while (const auto batch = source->next()) {
      const json ids = nested(batch->others.at("prompt_ids"));
      for (size_t b = 0; b < batch->ids.size(); ++b, ++row) {
        CHECK(named(batch->ids[b]) == wanted.at("ids").at(row));
        CHECK(batch->target_texts[b] == wanted.at("texts").at(row));
        const json& prompt = wanted.at("prompts").at(row);
        REQUIRE(ids[b].size() >= prompt.size());
        CHECK(json(ids[b].end() - static_cast<std::ptrdiff_t>(prompt.size()), ids[b].end()) ==
              prompt);
      }
    }
    CHECK(row == wanted.at("ids").size());
  }
}

TEST_CASE("batches of a finite set have prompts, those of training have none") {
  for (const char* repeat : {"true", "false"}) {
    Talks talks(kTalks, "qwen");
    talks.options["repeat"] = Config::scalar(repeat);
    const auto batch = talks.open()->next();
    REQUIRE(batch);
    CHECK(batch->others.contains("prompt_ids") == (std::string(repeat) == "false"));
  }
}

TEST_CASE("a user's text with the tag is put around the only audio") {
  const auto audio = std::make_shared<const Cut>();
  data::AudioConversation one{"c", "c", "", {{"user", "", audio}, {"assistant", "yes", nullptr}}};
  data::AudioConversation plain = one, two = one;
  data::add_turns(one, {"", "Say <a> again"}, "<a>");
  REQUIRE(one.turns.size() == 2);
  CHECK(one.turns[0].text == "Say <a> again");
  data::add_turns(plain, {"Be brief.", "Say it:"}, "<a>");
  REQUIRE(plain.turns.size() == 4);
  CHECK(plain.turns[0].role == "system");
  CHECK(plain.turns[1].text == "Say it:");
  data::add_turns(plain, {"Be long.", "Or not"}, "<a>");  // it has turns of these roles
  CHECK(plain.turns.size() == 4);
  CHECK(data::without_answer(plain).turns.size() == 3);
  two.turns.insert(two.turns.begin(), {"user", "", audio});
  try {
    data::add_turns(two, {"", "Say <a> again"}, "<a>");
    FAIL("two audios have one place");
  } catch (const Error& error) {
    CHECK(error.id() == "data/prompt-turns");
    CHECK(contains(error.message(), "2 audios, and the user's prompt has 1 places"));
  }
}

TEST_CASE("a file's first line says what it holds") {
  const TemporaryFolder dir;
  const auto type_of = [&](const std::string& name, const std::string& text) {
    write_text(dir / name, text);
    const auto entry = data::input_of(dir / name);
    return entry ? entry->find("type")->text() : "none";
  };
  CHECK(type_of("a.jsonl", kTalks) == "multimodal_conversation");
  CHECK(type_of("a.jsonl", R"({"conversations": [{"from": "human", "value": "hi"}]})") ==
        "share_gpt");
  CHECK(type_of("a.json", "\n{\"audio_filepath\": \"a.wav\"}\n") == "nemo");
  CHECK(type_of("a.jsonl", R"({"id": "c", "recording": {}, "supervisions": []})") == "lhotse");
  CHECK(type_of("a.yaml", "[]") == "group");
  CHECK(type_of("a.jsonl", R"({"prompt": "hi"})") == "none");
  CHECK(type_of("a.txt", "hi") == "none");
  CHECK_FALSE(data::input_of(dir.path().string()));
  write_text(dir / "cuts.000000.jsonl.gz", "");
  CHECK(data::input_of(dir.path().string())->find("type")->text() == "lhotse_shar");
}
