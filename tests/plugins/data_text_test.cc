#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/tokenizer.h"

namespace {

using nlohmann::json;
using s2s::Config;
using s2s::test::BuiltPlugins;
using s2s::test::TemporaryFolder;

const std::string kData = s2s::test::source_dir() + "/tests/reference/data/";

json read(const std::string& name) {
  std::ifstream file(kData + name);
  return json::parse(file);
}

/// A tokenizer's folder as Hugging Face keeps it.
void write_folder(const TemporaryFolder& folder, const json& style, bool template_in_settings) {
  json tokenizer = read("hf_tokenizer_" + style["base"].get<std::string>() + ".json");
  for (const json& token : style["added"]) tokenizer["added_tokens"].push_back(token);
  json settings = {{"bos_token", style["bos"]},
                   {"eos_token", {{"content", style["eos"]}, {"special", true}}},
                   {"pad_token", style["pad"]}};
  if (template_in_settings) {
    settings["chat_template"] = style["chat_template"];
  } else {
    folder.write("chat_template.jinja", style["chat_template"].get<std::string>());
  }
  folder.write("tokenizer.json", tokenizer.dump());
  folder.write("tokenizer_config.json", settings.dump());
}

Config map_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  Config config = Config::map();
  for (const auto& [key, value] : entries) config[key] = Config::scalar(value);
  return config;
}

std::vector<int64_t> numbers(const at::Tensor& values) {
  return {values.data_ptr<int64_t>(), values.data_ptr<int64_t>() + values.numel()};
}

}  // namespace

// tests/reference/chat_tokens.py, transformers 5.23 from PyPI.
TEST_CASE("ids and labels of chats and pairs equal those of transformers") {
  BuiltPlugins plugins;
  size_t num_rows = 0;
  bool in_settings = false;
  for (const json& style : read("chat_tokens.json")) {
    CAPTURE(style["name"].get<std::string>());
    const TemporaryFolder folder;
    in_settings = !in_settings;
    write_folder(folder, style, in_settings);
    s2s::BuildContext built;
    built.path = "model.tokenizer";
    const auto tokenizer = plugins.create<s2s::Tokenizer>(
        map_of({{"name", "hf"}, {"path", folder.path().string()}}), built);
    std::string lines;
    for (const json& row : style["rows"]) lines += row["line"].dump() + "\n";
    s2s::DataContext context;
    context.path = "data.train_ds";
    context.tokenizer = tokenizer.get();
    const auto source =
        plugins.create<s2s::DataSource>(map_of({{"name", "text"},
                                                {"path", folder.write("train.jsonl", lines)},
                                                {"labels", "response"},
                                                {"batch_size", "1"},
                                                {"repeat", "false"}}),
                                        context);
    for (const json& row : style["rows"]) {
      CAPTURE(row["line"].dump());
      const auto batch = source->next();
      REQUIRE(batch);
      const auto ids = row["ids"].get<std::vector<int64_t>>();
      auto labels = row["labels"].get<std::vector<int64_t>>();
      for (size_t i = 0; i < labels.size(); ++i) labels[i] = labels[i] == 1 ? ids[i] : -100;
      CHECK(numbers(batch->text_BT[0]) == ids);
      CHECK(numbers(batch->text_labels_BT[0]) == labels);
      ++num_rows;
    }
    CHECK_FALSE(source->next());
  }
  CHECK(num_rows == 84);
}
