#include "s2s/recognizer_config.h"

#include <doctest/doctest.h>

#include "s2s/error.h"
#include "s2s/nn/weights.h"

using namespace s2s;

namespace {

/// A transducer of NeMo with three labels.
Config transducer_with(const std::string& decoder, const std::string& joint,
                       const std::string& durations) {
  return parse_json(
      R"({"preprocessor": {}, "encoder": {}, "labels": ["a", "b", "c"], "decoder": )" + decoder +
          R"(, "joint": )" + joint + R"(, "decoding": {"durations": )" + durations + "}}",
      "model_config");
}

std::string refusal(const Config& foreign) {
  try {
    read_recognizer(foreign, "fuzz.nemo");
  } catch (const Error& error) {
    CHECK(error.id() == "weights/config");
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("numbers of a recognizer that cannot be meant are refused by their key") {
  CHECK(refusal(transducer_with("{}", "{}", "[]")).empty());
  const auto check = [](const Config& foreign, const std::string& key) {
    const std::string message = refusal(foreign);
    CHECK_MESSAGE(message.find(key) != std::string::npos, message);
    CHECK_MESSAGE(message.find("from 0 to 1048576") != std::string::npos, message);
  };
  check(transducer_with(R"({"vocab_size": 9223372036854775807})", "{}", "[]"),
        "decoder.vocab_size");
  check(transducer_with("{}", R"({"num_classes": -1})", "[]"), "joint.num_classes");
  check(transducer_with("{}", R"({"num_extra_outputs": 1})", "[-1]"), "decoding.durations");
  const Config ctc = parse_json(R"({"preprocessor": {}, "encoder": {}, "decoder":
      {"num_classes": 9223372036854775807}})",
                                "model_config");
  check(ctc, "decoder.num_classes");
}
