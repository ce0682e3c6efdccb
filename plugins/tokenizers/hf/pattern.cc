#include "pattern.h"

#include <algorithm>

#include "hf_errors.h"
#include "pattern_syntax.h"
#include "s2s/error.h"
#include "unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <time.h>

namespace s2s::hf {
namespace {

constexpr size_t kFirstStackBytes = size_t{32} << 10;
constexpr size_t kLastStackBytes = size_t{64} << 20;
constexpr uint32_t kHeapKibibytes = 64 << 10;
// Of one call: tokenizers of public models take less than 1 us for a byte.
constexpr double kSeconds = 1.0;
constexpr double kSecondsPerByte = 4e-6;
constexpr size_t kSearchesPerClock = 4096;
constexpr size_t kStepsPerSearch = 4096;
constexpr size_t kGrowth = 64;
constexpr size_t kGrowthBytes = 1024;

/// Limit of steps from one start of a match: enough for patterns without heavy backtracking, and at
/// most PCRE2's own limit.
uint32_t match_limit(size_t num_bytes) {
  constexpr size_t kFewest = 20'000;
  constexpr size_t kMost = 10'000'000;
  return static_cast<uint32_t>(std::min(kFewest + 32 * num_bytes, kMost));
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The last place where a match that is searched from `begin` on may start before the clock is
/// looked at again: each start may take time in proportion to the rest of the text.
size_t last_start(std::string_view text, size_t begin) {
  constexpr size_t kFewest = 2048;
  constexpr size_t kMostSteps = size_t{1} << 28;
  const size_t rest = text.size() - begin;
  const size_t starts = std::max(kFewest, kMostSteps / std::max<size_t>(rest, 1));
  if (starts >= rest) return text.size();
  size_t last = begin + starts;
  while ((static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;  // begins a character
  return last;
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

void MatchState::begin(size_t num_bytes) {
  given_bytes_ = num_bytes;
  since_clock_ = 0;
  started_s_ = -1.0;
}

bool MatchState::has_time(size_t num_starts, size_t num_bytes) {
  since_clock_ += 1 + num_bytes * num_starts / kStepsPerSearch;
  if (since_clock_ < kSearchesPerClock) return true;
  since_clock_ = 0;
  const double now_s = thread_seconds();
  if (started_s_ < 0) started_s_ = now_s;
  return now_s - started_s_ <= kSeconds + kSecondsPerByte * static_cast<double>(given_bytes_);
}

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
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
      &error, &offset, nullptr));
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
  for (size_t begin = from; begin <= text.size();) {
    const size_t last = last_start(text, begin);
    pcre2_set_offset_limit(state.context_.get(), last == text.size() ? PCRE2_UNSET : last);
    const int result = match(code_.get(), units(text), text.size(), begin, PCRE2_NO_UTF_CHECK,
                             state.data_.get(), state.context_.get());
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) fail_at_limit(text);
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(state.data_.get());
    const size_t tried = (result < 0 ? last : ends[0]) - begin + 1;
    if (!state.has_time(tried, text.size() - begin)) fail_at_limit(text);
    if (result >= 0) return Span{ends[0], ends[1], true};
    if (last == text.size()) break;
    begin = last + code_point_at(text, last).size;
  }
  return std::nullopt;
}

void Pattern::fail_at_limit(std::string_view text) const {
  throw errors::pattern_limit(valid_utf8(source_.substr(0, 200)), text.size());
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

}  // namespace s2s::hf
