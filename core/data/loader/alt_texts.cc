#include "loader/alt_texts.h"

#include <algorithm>

#include "base/foreign_json.h"
#include "cuts/mixed_cut.h"
#include "loader/loader_errors.h"

namespace s2s::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kField = "alt_text";

std::optional<std::string> text_of(const Json& item, const char* key, const Cut& cut) {
  const auto found = item.find(key);
  if (found == item.end()) throw loader_errors::alt_text(cut, item.dump());
  if (found->is_null()) return std::nullopt;
  if (!found->is_string()) throw loader_errors::alt_text(cut, item.dump());
  return found->get<std::string>();
}

void set_text(Cut& cut, const Json& item) {
  const std::optional<std::string> text = text_of(item, "text", cut);
  const std::optional<std::string> language = text_of(item, "lang", cut);
  for (Supervision& turn : cut.supervisions) {
    turn.text = text;
    turn.language = language;
  }
  std::erase_if(cut.custom, [](const auto& field) {
    return std::holds_alternative<JsonText>(field.second) &&
           field.first != "target_audio_unaligned";
  });
  for (const char* first : {"text", "lang"}) cut.set_custom(first, JsonText{item[first].dump()});
  for (const auto& [key, value] : item.items()) cut.set_custom(key, JsonText{value.dump()});
}

std::vector<CutPtr> with_alt_texts(const CutPtr& cut) {
  std::vector<CutPtr> parts = {cut};
  const CustomValue* value = cut->find_custom(kField);
  const auto* text = value == nullptr ? nullptr : std::get_if<JsonText>(value);
  if (text == nullptr || text->text == "null") return parts;
  const Json texts = try_parse_foreign_json<Json>(text->text);
  if (!texts.is_object()) throw loader_errors::alt_text(*cut, text->text);
  for (const Json& item : texts) {
    if (!item.is_object()) throw loader_errors::alt_text(*cut, item.dump());
    Cut changed = *cut;
    if (changed.kind == Cut::Kind::kMixed) {
      change_first_track(changed, [&](Cut& first) { set_text(first, item); });
      update_mixed(changed);
    } else {
      set_text(changed, item);
    }
    parts.push_back(std::make_shared<const Cut>(std::move(changed)));
  }
  return parts;
}

}  // namespace

StreamPtr expand_alt_texts(StreamPtr source) {
  return flat_map(std::move(source), with_alt_texts, "alt_text");
}

}  // namespace s2s::data
