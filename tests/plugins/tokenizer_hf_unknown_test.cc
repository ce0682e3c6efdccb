// What the tokenizer hf decodes of an unknown token.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "common/temporary_folder.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/tokenizer.h"

namespace {

using nlohmann::json;
using s2s::Config;
using s2s::Tokenizer;
using s2s::test::TemporaryFolder;

Config hf_node(const std::string& path) {
  Config config = Config::map();
  config["name"] = Config::scalar("hf");
  config["path"] = Config::scalar(path);
  return config;
}

}  // namespace

TEST_CASE("an unknown token is skipped if the file calls it special, not because it is the PAD") {
  const TemporaryFolder dir;
  s2s::test::BuiltPlugins plugins;
  s2s::BuildContext context;
  context.path = "model.tokenizer";
  json file = {{"version", "1.0"},
               {"added_tokens", json::array()},
               {"pre_tokenizer", {{"type", "Whitespace"}}},
               {"model",
                {{"type", "BPE"},
                 {"unk_token", "<unk>"},
                 {"vocab", {{"<unk>", 0}, {"a", 1}, {"b", 2}}},
                 {"merges", json::array()}}}};
  const auto text_of = [&](const std::string& name) {
    Config config = hf_node(dir.write(name, file.dump()));
    config["bos_id"] = Config::scalar("1");
    config["eos_id"] = Config::scalar("2");
    const auto tokenizer = plugins.create<Tokenizer>(config, context);
    CHECK(tokenizer->special_ids().pad == 0);
    return tokenizer->decode({1, 0, 0, 2});
  };
  CHECK(text_of("plain.json") == "<unk> <unk>");  // as tokenizers' decode
  file["added_tokens"].push_back({{"id", 0},
                                  {"content", "<unk>"},
                                  {"special", true},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false}});
  CHECK(text_of("special.json").empty());
}
