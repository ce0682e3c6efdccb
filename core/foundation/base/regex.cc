#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <stdexcept>

#include "s2s/error.h"

namespace s2s {

namespace {

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string words_of(int error) {
  std::string text(256, '\0');
  const int size =
      pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text.data()), text.size());
  text.resize(static_cast<size_t>(std::max(size, 0)));
  return text;
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
using MatchData = std::unique_ptr<pcre2_match_data, FreeMatch>;

MatchData new_match(const pcre2_code* code) {
  MatchData data(pcre2_match_data_create_from_pattern(code, nullptr));
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

/// Returns a value below 0 for no match or an error. The interpreter's stack is on the heap and
/// limited.
int search(const pcre2_code* code, std::string_view text, uint32_t options,
           pcre2_match_data* data) {
  return pcre2_match(code, units(text), text.size(), 0, options | PCRE2_NO_JIT, data, nullptr);
}

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Regex::Regex(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(units(pattern), pattern.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &offset,
                            nullptr));
  if (code_ == nullptr) {
    throw std::invalid_argument(fmt::format("{} (at byte {})", words_of(error), offset));
  }
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // if this fails, matching is only slower
}

std::optional<std::vector<std::string>> Regex::groups_of(std::string_view text,
                                                         uint32_t options) const {
  const MatchData data = new_match(code_.get());
  if (search(code_.get(), text, options, data.get()) < 0) return std::nullopt;
  const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data.get());
  std::vector<std::string> groups(pcre2_get_ovector_count(data.get()));
  for (size_t i = 0; i < groups.size(); ++i) {
    if (ends[2 * i] == PCRE2_UNSET) continue;
    groups[i] = text.substr(ends[2 * i], ends[2 * i + 1] - ends[2 * i]);
  }
  return groups;
}

std::optional<std::vector<std::string>> Regex::find(std::string_view text) const {
  return groups_of(text, 0);
}

std::optional<std::vector<std::string>> Regex::match(std::string_view text) const {
  return groups_of(text, PCRE2_ANCHORED | PCRE2_ENDANCHORED);
}

bool Regex::matches_start(std::string_view text) const {
  const MatchData data = new_match(code_.get());
  const int found = search(code_.get(), text, PCRE2_ANCHORED, data.get());
  if (found < 0 && found != PCRE2_ERROR_NOMATCH) throw std::runtime_error(words_of(found));
  return found >= 0;
}

std::string Regex::replace(const std::string& text, std::string_view replacement) const {
  std::string out(text.size() * 2 + 64, '\0');
  for (;;) {
    PCRE2_SIZE size = out.size();
    const int found = pcre2_substitute(code_.get(), units(text), text.size(), 0,
                                       PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH,
                                       nullptr, nullptr, units(replacement), replacement.size(),
                                       reinterpret_cast<PCRE2_UCHAR*>(out.data()), &size);
    if (found == PCRE2_ERROR_NOMEMORY && size > out.size()) {
      out.resize(size);
      continue;
    }
    S2S_ASSERT(found >= 0, "the text is valid UTF-8 and the replacement names existing groups");
    out.resize(size);
    return out;
  }
}

}  // namespace s2s
