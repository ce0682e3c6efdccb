// The transducer is compared with NeMo's by tests/reference (llama_asr_decoder).

#include "s2s/nn/transducer.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

TEST_CASE("labels are joined to a text, and pieces have blanks between words") {
  CHECK(s2s::text_of_labels({"\u2581he", "llo", "\u2581you"}, {0, 1, 2}) == "hello you");
  CHECK(s2s::text_of_labels({" ", "a", "b"}, {1, 0, 2}) == "a b");
  CHECK(s2s::text_of_labels({"a"}, {}).empty());
}
