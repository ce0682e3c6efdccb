#include "eval/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "s2s/error.h"

namespace s2s {

namespace {

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Regex::Regex(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error, &offset,
                            nullptr));
  S2S_ASSERT(code_ != nullptr, "patterns are written in this program and compile");
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // without it matching is only slower
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
