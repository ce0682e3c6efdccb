#include "s2s_run/checkpoint/stop_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "checkpoint/checkpoint_copies.h"
#include "s2s/foreign_text.h"
#include "s2s_run/checkpoint/checkpoint_export_tokenizer.h"
#include "s2s_run/checkpoint/stored_config.h"
#include "text/prompt_encoder.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kConfigFile = "config.json";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";

/// A JSON object, or null where there is no such file or it is something else.
Json read_object(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return nullptr;
  try {
    Json json = try_parse_foreign_json<Json>(read_small_file(file.string(), kTokenizerConfigBytes),
                                             kVocabularyJson);
    return json.is_object() ? json : Json(nullptr);
  } catch (const std::system_error&) {
    return nullptr;
  }
}

void write_object(const fs::path& file, const Json& json) {
  write_file_atomically(file.string(),
                        json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

/// The ids of "eos_token_id": a number or a list of numbers.
std::vector<int64_t> ids_at(const Json& json, const char* key) {
  std::vector<int64_t> ids;
  if (!json.is_object() || !json.contains(key)) return ids;
  const auto add = [&ids](const Json& value) {
    if (value.is_number_integer() && value.get<int64_t>() >= 0) ids.push_back(value.get<int64_t>());
  };
  const Json& value = json[key];
  if (value.is_array()) {
    for (const Json& item : value) add(item);
  } else {
    add(value);
  }
  return ids;
}

/// The control token that ends the assistant's turn of the training data's chat template. The
/// template of a file that is not here any more ends nothing.
struct ChatEnd {
  std::optional<int64_t> token;
  bool is_trained = false;  // the configuration says that the data are chats
};

ChatEnd chat_end(Config& config, const Tokenizer& tokenizer) {
  ChatEnd end;
  if (stored_text(config, {"model", "type"}).value_or("") != "causal_lm") return end;
  data::DocumentOptions options;
  const auto chosen = stored_text(config, {"data", "train_ds", "chat_template"});
  if (chosen) options.chat_template = *chosen;
  const auto format = stored_text(config, {"data", "train_ds", "format"});
  end.is_trained = options.chat_template != "tokenizer" || format.value_or("") == "messages";
  try {
    data::PromptEncoder encoder(options, tokenizer, "data.train_ds", ".");
    encoder.of_message("hello", "");
    const data::TurnEnd& turn = encoder.turn_end();
    if (!turn.tokens.empty()) end.token = turn.tokens.front();
  } catch (const Error&) {
    // No template, or one that refuses a plain question.
  }
  return end;
}

/// Collects ids in the order in which they are added, each once.
class Ends {
 public:
  explicit Ends(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  StopToken token(int64_t id) const {
    const bool is_known = tokenizer_ != nullptr && id < tokenizer_->vocab_size();
    return {id, is_known ? tokenizer_->piece(id) : ""};
  }
  void add(int64_t id) {
    const auto is_same = [id](const StopToken& token) { return token.id == id; };
    if (std::none_of(all.begin(), all.end(), is_same)) all.push_back(token(id));
  }
  /// An id of another tokenizer may be a word of this one.
  bool is_special(int64_t id) const {
    if (tokenizer_ == nullptr) return true;
    return id < tokenizer_->vocab_size() && tokenizer_->decode({id}).empty();
  }

  std::vector<StopToken> all;

 private:
  const Tokenizer* tokenizer_;
};

/// None where the tokenizer's files contradict themselves.
SpecialIds known_ids(const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return {};
  try {
    return tokenizer->known_special_ids();
  } catch (const Error&) {
    return {};
  }
}

void add_trained(Config& config, const Tokenizer* tokenizer, Ends& ends) {
  const std::optional<int64_t> given = stored_number(config, {"model", "eos"});
  const std::optional<int64_t> of_channel = stored_number(config, {"model", "tokens", "eos"});
  ChatEnd chat;
  if (tokenizer != nullptr) chat = chat_end(config, *tokenizer);
  if (chat.token && chat.is_trained) ends.add(*chat.token);
  if (given) {
    ends.add(*given);
  } else if (of_channel) {
    ends.add(*of_channel);
  } else if (const int64_t eos = known_ids(tokenizer).eos; eos >= 0) {
    ends.add(eos);
  }
  if (chat.token) ends.add(*chat.token);
}

std::unique_ptr<Tokenizer> tokenizer_or_note(const std::string& checkpoint,
                                             const Registries& registries) {
  try {
    return tokenizer_of_checkpoint(checkpoint, registries);
  } catch (const Error& error) {
    if (error.id() == "io/read") throw;  // a retry may succeed
    fmt::print(stderr, "note: the ids at which the model stops are those that it came with: {}\n",
               printable(error.what()));
  }
  return nullptr;
}

Json ids_of(const std::vector<StopToken>& tokens) {
  if (tokens.size() == 1) return tokens.front().id;
  Json list = Json::array();
  for (const StopToken& token : tokens) list.push_back(token.id);
  return list;
}

std::string token_text(const Json& token) {
  const Json* const text =
      token.is_object() && token.contains("content") ? &token["content"] : &token;
  return text->is_string() ? text->get<std::string>() : "";
}

/// Sets a token in a file of the tokenizer. Returns true if it changed.
bool set_token(Json& settings, const char* key, const StopToken& token) {
  if (token.text.empty()) return false;
  if (settings.contains(key) && token_text(settings[key]) == token.text) return false;
  settings[key] = token.text;
  return true;
}

}  // namespace

StopIds stop_ids_of(const std::string& checkpoint, const Registries& registries) {
  Config config = stored_config(checkpoint);
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_or_note(checkpoint, registries);
  Ends ends(tokenizer.get());
  add_trained(config, tokenizer.get(), ends);
  const fs::path source = fs::path(checkpoint) / kLlmCopy;
  const Json defaults = read_object(source / kGenerationConfig);
  const Json of_source = read_object(source / kConfigFile);
  for (const Json* json : {&defaults, &of_source}) {
    for (const int64_t id : ids_at(*json, "eos_token_id")) {
      if (ends.is_special(id)) ends.add(id);
    }
  }
  StopIds ids;
  std::optional<int64_t> bos = stored_number(config, {"model", "tokens", "bos"});
  if (const int64_t known = known_ids(tokenizer.get()).bos; !bos && known >= 0) bos = known;
  for (const Json* json : {&of_source, &defaults}) {
    const std::vector<int64_t> begins = ids_at(*json, "bos_token_id");
    if (!bos && !begins.empty() && ends.is_special(begins.front())) bos = begins.front();
  }
  if (bos) ids.bos = ends.token(*bos);
  ids.ends = std::move(ends.all);
  return ids;
}

void set_stop_ids(const StopIds& ids, Config& foreign) {
  const auto number = [](const StopToken& token) {
    return Config::scalar(std::to_string(token.id));
  };
  if (ids.bos) foreign["bos_token_id"] = number(*ids.bos);
  if (ids.ends.size() == 1) foreign["eos_token_id"] = number(ids.ends.front());
  if (ids.ends.size() < 2) return;
  std::vector<Config> list;
  for (const StopToken& token : ids.ends) list.push_back(number(token));
  foreign["eos_token_id"] = Config::list(std::move(list));
}

void write_tokenizer_ends(const StopIds& ids, const std::string& output) {
  const fs::path folder = output;
  std::error_code ignored;
  if (ids.ends.empty() || !fs::exists(folder / "tokenizer.json", ignored)) return;
  const fs::path file = folder / kTokenizerConfig;
  // Without the file, readers guess a class from the model's type.
  const bool is_new = !fs::exists(file, ignored);
  Json settings = is_new ? Json{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                {"clean_up_tokenization_spaces", false}}
                         : read_object(file);
  if (!settings.is_object()) return;
  const bool has_bos = is_new && ids.bos && set_token(settings, "bos_token", *ids.bos);
  if (set_token(settings, "eos_token", ids.ends.front()) || has_bos) write_object(file, settings);
  const fs::path map = folder / "special_tokens_map.json";
  Json tokens = read_object(map);
  if (tokens.is_object() && tokens.contains("eos_token") &&
      set_token(tokens, "eos_token", ids.ends.front())) {
    write_object(map, tokens);
  }
}

void write_stop_ids(const StopIds& ids, const std::string& folder) {
  const fs::path file = fs::path(folder) / kGenerationConfig;
  std::error_code ignored;
  Json defaults = fs::exists(file, ignored) ? read_object(file) : Json::object();
  if (defaults.is_object() && !ids.ends.empty()) {
    if (ids.bos) defaults["bos_token_id"] = ids.bos->id;
    defaults["eos_token_id"] = ids_of(ids.ends);
    write_object(file, defaults);
  }
  write_tokenizer_ends(ids, folder);
}

}  // namespace s2s::run
