#include "pattern.h"

#include <algorithm>

#include "pattern_syntax.h"
#include "s2s/error.h"
#include "tokenizer_errors.h"
#include "unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace s2s::hf_plugin {
namespace {

constexpr size_t kFirstStackBytes = size_t{32} << 10;
constexpr size_t kLastStackBytes = size_t{64} << 20;
constexpr uint32_t kHeapKibibytes = 64 << 10;
constexpr size_t kGrowth = 64;
constexpr size_t kGrowthBytes = 1024;

/// Limit of steps from one start of a match: enough for patterns without heavy backtracking, and at
/// most PCRE2's own limit.
uint32_t match_limit(size_t num_bytes) {
  constexpr size_t kFewest = 20'000;
  constexpr size_t kMost = 10'000'000;
  return static_cast<uint32_t>(std::min(kFewest + 32 * num_bytes, kMost));
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string compile_error(int error, size_t offset) {
  PCRE2_UCHAR text[160];
  pcre2_get_error_message(error, text, sizeof(text));
  return std::string(reinterpret_cast<const char*>(text)) + " (at byte " + std::to_string(offset) +
         " of its PCRE2 form)";
}

}  // namespace

MatchState::MatchState()
    : data_(pcre2_match_data_create(1, nullptr)),
      stack_(pcre2_jit_stack_create(kFirstStackBytes, kLastStackBytes, nullptr)),
      context_(pcre2_match_context_create(nullptr)) {
  S2S_ASSERT(data_ && stack_ && context_, "there is memory for a few structures");
  pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  pcre2_set_heap_limit(context_.get(), kHeapKibibytes);
}

void MatchState::begin(size_t num_bytes) { given_bytes_ = num_bytes; }

void MatchState::check(size_t num_bytes) const {
  if (num_bytes > kGrowth * given_bytes_ + kGrowthBytes) {
    throw errors::text_growth(given_bytes_, num_bytes);
  }
}

void MatchState::Free::operator()(pcre2_real_match_data_8* data) const {
  pcre2_match_data_free(data);
}
void MatchState::Free::operator()(pcre2_real_match_context_8* context) const {
  pcre2_match_context_free(context);
}
void MatchState::Free::operator()(pcre2_real_jit_stack_8* stack) const {
  pcre2_jit_stack_free(stack);
}
void Pattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Pattern Pattern::literal(std::string text) {
  S2S_ASSERT(!text.empty(), "the reader refuses empty patterns");
  Pattern pattern;
  pattern.source_ = std::move(text);
  return pattern;
}

Pattern Pattern::regex(std::string_view source) {
  Pattern pattern;
  pattern.source_ = std::string(source);
  const std::string translated = to_pcre2(source);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pattern.code_.reset(pcre2_compile(
      units(translated), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (!pattern.code_) throw UnsupportedSyntax("an error: " + compile_error(error, offset));
  pattern.jit_ = pcre2_jit_compile(pattern.code_.get(), PCRE2_JIT_COMPLETE) == 0;
  return pattern;
}

std::optional<Span> Pattern::search(std::string_view text, size_t from, MatchState& state) const {
  if (!code_) {
    const size_t found = text.find(source_, from);
    if (found == text.npos) return std::nullopt;
    return Span{found, found + source_.size(), true};
  }
  pcre2_set_match_limit(state.context_.get(), match_limit(text.size()));
  const auto match = jit_ ? &pcre2_jit_match : &pcre2_match;
  const int result = match(code_.get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK,
                           state.data_.get(), state.context_.get());
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) throw errors::pattern_limit(valid_utf8(source_.substr(0, 200)), text.size());
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(state.data_.get());
  return Span{ends[0], ends[1], true};
}

void Pattern::split(std::string_view text, MatchState& state, std::vector<Span>& out) const {
  out.clear();
  if (text.empty()) return;
  size_t done = 0;  // end of the part that `out` already covers
  std::optional<size_t> last_match_end;
  for (size_t from = 0; from <= text.size();) {
    const std::optional<Span> found = search(text, from, state);
    if (!found) break;
    if (found->begin == found->end && last_match_end == found->end) {
      if (from >= text.size()) break;
      from += code_point_at(text, from).size;
      continue;
    }
    if (found->begin > done) out.push_back({done, found->begin, false});
    out.push_back(*found);
    done = found->end;
    from = found->end;
    last_match_end = found->end;
  }
  if (done < text.size()) out.push_back({done, text.size(), false});
}

}  // namespace s2s::hf_plugin
