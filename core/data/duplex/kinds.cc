// Key functions of the interfaces that the data layer uses (see plugin/interfaces.cc).

#include <fmt/format.h>

#include "s2s/error.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s {
namespace {

Error long_text_error(size_t bytes, size_t most) {
  return data_error("tokenizer/long-text",
                    fmt::format("a text of {} bytes; expected at most {} in one piece; split it "
                                "into several",
                                bytes, most));
}

}  // namespace

DataSource::~DataSource() = default;
Tokenizer::~Tokenizer() = default;

void require_short_text(std::string_view text) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  if (text.size() > kMostBytes) throw long_text_error(text.size(), kMostBytes);
}

}  // namespace s2s
