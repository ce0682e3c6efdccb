#include "special_tokens.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "hf_errors.h"
#include "s2s/foreign_text.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsualFile = "tokenizer.json";
constexpr const char* kSettings[] = {"tokenizer_config.json", "special_tokens_map.json"};
/// A vocabulary of 262,144 tokens has 33 MB. Settings have 200 bytes for each token that is added;
/// speech models add 65,536.
constexpr size_t kSettingsBytes = size_t{32} << 20;
/// Of a file of any size, and then one for each so many bytes: a token takes 15 and more.
constexpr size_t kAnyValues = 200'000;
constexpr size_t kBytesPerValue = 8;

struct Role {
  const char* option;              // bos_id
  const char* setting;             // bos_token
  std::vector<std::string> names;  // common names of the token
  std::vector<std::string> parts;  // parts of names of suitable tokens, the best first
};

const Role& bos_role() {
  static const Role role{"bos_id",
                         "bos_token",
                         {"<s>", "<bos>", "<|begin_of_text|>", "[BOS]"},
                         {"bos", "begin", "start", "reserved", "extra", "unused"}};
  return role;
}

const Role& eos_role() {
  static const Role role{"eos_id",
                         "eos_token",
                         {"</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "[EOS]"},
                         {"eos", "end", "reserved", "extra", "unused"}};
  return role;
}

const Role& pad_role() {
  static const Role role{
      "pad_id",
      "pad_token",
      {"<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>", "<|finetune_right_pad|>"},
      {"pad", "reserved", "extra", "unused", "unk"}};
  return role;
}

bool is_settings(const fs::path& path) {
  return std::find(std::begin(kSettings), std::end(kSettings), path.filename()) !=
         std::end(kSettings);
}

/// Whether it is another file of a model's folder.
bool is_of_model(const fs::path& path) {
  static const std::vector<std::string> kNames = {"config.json",
                                                  "generation_config.json",
                                                  "adapter_config.json",
                                                  "vocab.json",
                                                  "tekken.json",
                                                  "model.safetensors.index.json",
                                                  "modules.json",
                                                  "preprocessor_config.json",
                                                  "pytorch_model.bin.index.json",
                                                  "trainer_state.json"};
  return std::find(kNames.begin(), kNames.end(), path.filename().string()) != kNames.end();
}

/// The only .json of a folder that is not a settings file or of a model; "" if there are none or
/// several.
std::string only_json(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const bool is_json = entry.path().extension() == ".json";
    if (is_json && !is_settings(entry.path()) && !is_of_model(entry.path())) {
      found.push_back(entry.path().string());
    }
  }
  return found.size() == 1 ? found.front() : "";
}

/// The token of a settings file: a string, or an object with `content`. Empty if the value is null
/// or missing.
std::optional<std::string> token_of_settings(const JsonLocation& setting) {
  if (setting.is_null()) return std::nullopt;
  if (setting.value().is_object()) return setting["content"].text();
  return setting.text();
}

/// The special token at the start (`first`) or end of a template; "" if there is none.
std::string template_token(const JsonLocation& single, bool first) {
  if (single.is_null() || single.size() == 0) return "";
  const JsonLocation piece = single.item(first ? 0 : single.size() - 1);
  const JsonLocation special = piece["SpecialToken"];
  return special.is_null() ? "" : special["id"].text();
}

class SpecialTokenFinder {
 public:
  SpecialTokenFinder(const HfOptions& options, const TokenizerFiles& files,
                     const JsonLocation& post_processor, const Vocabulary& vocabulary,
                     const std::string& place)
      : options_(options),
        files_(files),
        post_(post_processor),
        vocabulary_(vocabulary),
        place_(place) {}

  int64_t find(const Role& role, const std::vector<int64_t>& taken) const {
    if (const auto id = from_options(role)) return *id;
    if (const auto id = from_settings(role)) return *id;
    if (const auto id = from_template(role)) return *id;
    if (const auto id = from_names(role)) return *id;
    if (&role == &pad_role() && vocabulary_.bpe().unknown()) return *vocabulary_.bpe().unknown();
    const NoSpecialId lacking =
        no_special_id(place_, role.option,
                      "'" + files_.tokenizer +
                          "' and the settings in its folder do not define the " + role.option,
                      proposal(role, taken));
    if (place_ != "model.tokenizer") throw lacking;
    throw NoSpecialId(lacking.exit_code(), lacking.id(),
                      lacking.message() + "; or set " + place_ + "." + role.setting +
                          " to such a token (model." + role.setting + " in a file of NeMo)");
  }

 private:
  /// A suitable special token of this file for messages, such as "128004
  /// (<|finetune_right_pad_id|>)"; "" if there is none.
  std::string proposal(const Role& role, const std::vector<int64_t>& taken) const {
    for (const std::string& part : role.parts) {
      for (const AddedToken& token : vocabulary_.added()) {
        const bool is_free =
            std::find(taken.begin(), taken.end(), token.id) == taken.end() && token.special;
        if (!is_free || token.content.find(part) == std::string::npos) continue;
        return std::to_string(token.id) + " (" + printable_name(token.content) + ")";
      }
    }
    return "";
  }

  std::optional<int64_t> from_options(const Role& role) const {
    const auto& token = &role == &bos_role()   ? options_.bos_token
                        : &role == &eos_role() ? options_.eos_token
                                               : options_.pad_token;
    if (!token) return std::nullopt;
    if (const auto id = vocabulary_.find(*token)) return *id;
    throw errors::unknown_special(place_, place_ + "." + role.setting, *token, role.option);
  }

  std::optional<int64_t> from_settings(const Role& role) const {
    for (const std::string& file : files_.settings) {
      const nlohmann::json json = read_json(file, place_);
      const JsonLocation setting = JsonLocation(json, file)[role.setting];
      const auto token = token_of_settings(setting);
      if (!token) continue;
      if (const auto id = vocabulary_.find(*token)) return *id;
      throw errors::unknown_special(place_, setting.where(), *token, role.option);
    }
    return std::nullopt;
  }

  std::optional<int64_t> from_template(const Role& role) const {
    if (&role == &pad_role()) return std::nullopt;
    std::string token;
    for_each_part(post_, "processors", [&](const JsonLocation& part) {
      if (part.type() != "TemplateProcessing") return;
      const std::string here = template_token(part["single"], &role == &bos_role());
      if (!here.empty()) token = here;
    });
    if (token.empty()) return std::nullopt;
    return vocabulary_.find(token);
  }

  std::optional<int64_t> from_names(const Role& role) const {
    std::vector<int32_t> found;
    for (const AddedToken& token : vocabulary_.added()) {
      const bool usual =
          std::find(role.names.begin(), role.names.end(), token.content) != role.names.end();
      if (usual) found.push_back(token.id);
    }
    if (found.size() != 1) return std::nullopt;
    return found.front();
  }

  const HfOptions& options_;
  const TokenizerFiles& files_;
  const JsonLocation post_;
  const Vocabulary& vocabulary_;
  const std::string& place_;
};

void check_template(const JsonLocation& location) {
  location.expect_only({"single", "pair", "special_tokens"});
  const JsonLocation single = location["single"];
  single.expect_list();
  for (size_t i = 0; i < single.size(); ++i) {
    single.item(i).expect_only({"SpecialToken", "Sequence"});
  }
}

}  // namespace

std::vector<std::string> TokenizerFiles::all() const {
  std::vector<std::string> files = {tokenizer};
  files.insert(files.end(), settings.begin(), settings.end());
  files.insert(files.end(), unread.begin(), unread.end());
  return files;
}

void require_no_link_out(const fs::path& file, const std::string& place) {
  const std::string target = link_out_of(file.string(), file.parent_path().string());
  if (!target.empty()) throw errors::link_out(place, file.string(), target);
}

TokenizerFiles find_files(const std::string& path, const std::string& place) {
  TokenizerFiles files;
  std::error_code ignored;
  fs::path file = path;
  if (fs::is_directory(file, ignored)) {
    file /= kUsualFile;
    if (!fs::exists(file, ignored)) file = only_json(path);
  }
  if (!fs::is_regular_file(file, ignored)) throw errors::missing_file(place, path);
  if (file != path) require_no_link_out(file, place);  // a file named by the user may be a link
  files.tokenizer = file.string();
  if (file.filename() != kUsualFile) return files;
  for (const char* name : kSettings) {
    const fs::path settings = file.parent_path() / name;
    if (!fs::is_regular_file(settings, ignored)) continue;
    require_no_link_out(settings, place);
    files.settings.push_back(settings.string());
  }
  const fs::path chat = file.parent_path() / "chat_template.jinja";
  if (!fs::is_regular_file(chat, ignored)) return files;
  require_no_link_out(chat, place);
  files.unread.push_back(chat.string());
  return files;
}

nlohmann::json read_json(const std::string& path, const std::string& place) {
  try {
    const std::string text =
        read_small_file(path, is_settings(path) ? kSettingsBytes : kSmallFileBytes);
    if (!is_json_depth_within(text)) {
      throw errors::unreadable(
          place, path, "it is nested deeper than " + std::to_string(kJsonDepth) + " levels");
    }
    if (const size_t most = std::max(kAnyValues, text.size() / kBytesPerValue);
        has_more_json_values(text, most)) {
      throw errors::unreadable(place, path,
                               "it has more than " + std::to_string(most) +
                                   " values; expected one for each 8 bytes, as in a vocabulary");
    }
    return nlohmann::json::parse(text);
  } catch (const std::system_error& error) {
    throw errors::unreadable(place, path, error.code().message());
  } catch (const nlohmann::json::exception& error) {
    // The message quotes the last input, which may be long or invalid UTF-8.
    const std::string reason = error.what();
    const size_t tag = reason.find("] ");
    throw errors::unreadable(place, path,
                             valid_utf8(reason.substr(tag == reason.npos ? 0 : tag + 2, 200)));
  }
}

void check_post_processor(const JsonLocation& location) {
  for_each_part(location, "processors", [](const JsonLocation& part) {
    const std::string type = part.type();
    if (type == "TemplateProcessing") return check_template(part);
    if (type != "ByteLevel") part.refuse_type("Sequence, TemplateProcessing or ByteLevel");
    part.expect_only({"add_prefix_space", "trim_offsets", "use_regex"});
  });
}

SpecialIdOptions::Find find_special_ids(const HfOptions& options, const TokenizerFiles& files,
                                        const JsonLocation& post_processor,
                                        const Vocabulary& vocabulary, const std::string& place) {
  return [finder = SpecialTokenFinder(options, files, post_processor, vocabulary, place)](
             const std::string& option, const std::vector<int64_t>& taken) {
    const Role& role = option == "bos_id"   ? bos_role()
                       : option == "eos_id" ? eos_role()
                                            : pad_role();
    return finder.find(role, taken);
  };
}

}  // namespace s2s::hf
