// Forced turn taking, token by token. PAD 0, BOS 1, EOS 2.

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "common/reference_json.h"
#include "plugins/models/duplex_stt/answer_metrics.h"

using namespace s2s;
using namespace s2s::duplex_stt;

namespace {

SttParts parts_of_rules() {
  SttParts parts;
  parts.ids = {1, 2, 0};
  parts.user_bos = {1};
  parts.user_eos = {2};
  return parts;
}

/// What becomes of an agent's tokens beside a user's.
std::vector<int64_t> ruled(const std::vector<int64_t>& agent, const std::vector<int64_t>& user,
                           const SttParts& parts = parts_of_rules(), int64_t window = 3) {
  DecodingOptions options;
  options.force_turn_taking = true;
  options.force_turn_taking_threshold = 4;
  options.force_turn_taking_pad_window = window;
  TurnRules rules(options, parts);
  std::vector<int64_t> result;
  for (size_t t = 0; t < agent.size(); ++t) {
    const FrameTokens chosen{at::tensor({agent[t]}, at::kLong), at::tensor({user[t]}, at::kLong)};
    result.push_back(rules.agent_tokens(chosen, {}).item<int64_t>());
  }
  return result;
}

using Ids = std::vector<int64_t>;

}  // namespace

TEST_CASE("the agent begins when the user's turn ends, unless it has begun lately") {
  CHECK(ruled({0, 0, 0, 0, 0, 0}, {1, 7, 8, 9, 2, 0}) == Ids{0, 0, 0, 0, 1, 0});
  CHECK(ruled({0, 0, 1, 0, 0, 0}, {1, 7, 8, 9, 2, 0}) == Ids{0, 0, 1, 0, 0, 0});
}

TEST_CASE("the agent ends its turn when the user begins, unless it has ended lately") {
  CHECK(ruled({0, 1, 7, 8, 9, 9}, {0, 0, 0, 0, 1, 7}) == Ids{0, 1, 7, 8, 2, 9});
  CHECK(ruled({1, 2, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 7}) == Ids{1, 2, 0, 0, 0, 0});
}

TEST_CASE("silence after the user's words ends the turn as soon as the window is full") {
  CHECK(ruled({0, 0, 0, 0, 0, 0, 0}, {1, 7, 0, 0, 0, 0, 0}) == Ids{0, 0, 0, 0, 0, 1, 0});
  CHECK(ruled({0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}) == Ids{0, 0, 0, 0, 0, 0});
}

TEST_CASE("the first frames are never forced") {
  CHECK(ruled({0, 0, 0, 0}, {1, 2, 0, 0}) == Ids{0, 0, 0, 0});
}

TEST_CASE("a token of old checkpoints ends the user's turn, too") {
  SttParts parts = parts_of_rules();
  parts.user_eos.push_back(33);
  CHECK(ruled({0, 0, 0, 0, 0}, {1, 7, 8, 33, 0}, parts) == Ids{0, 0, 0, 1, 0});
}

TEST_CASE("the text of a row joins its turns and leaves out silence") {
  class Words : public Tokenizer {
   public:
    std::vector<int64_t> encode(std::string_view) const override { return {}; }
    std::string decode(const std::vector<int64_t>& ids) const override {
      std::string text;
      for (const int64_t id : ids) text += std::to_string(id) + ".";
      return text;
    }
    int64_t vocab_size() const override { return 100; }
    const SpecialIds& special_ids() const override { return ids_; }
    std::string piece(int64_t) const override { return ""; }

   private:
    SpecialIds ids_{1, 2, 0};
  };
  CHECK(text_of({0, 1, 7, 0, 8, 2, 0, 1, 9}, {1, 2, 0}, Words()) == "7.8. 9.");
  CHECK(text_of({0, 0}, {1, 2, 0}, Words()).empty());
}

TEST_CASE("turn taking is counted as NeMo's metric does, row by row") {
  const auto golden = s2s::test::reference_json("nemo_label_prep.json.gz");
  REQUIRE(golden["turn_taking"].size() > 30);
  const auto rows_of = [](const nlohmann::json& rows) {
    std::vector<at::Tensor> stacked;
    for (const auto& row : rows) {
      stacked.push_back(at::tensor(row.get<std::vector<int64_t>>(), at::kLong));
    }
    return at::stack(stacked);
  };
  int64_t taken = 0;
  for (const auto& known : golden["turn_taking"]) {
    CAPTURE(known.dump());
    const TurnTaking counts =
        count_turn_taking(rows_of(known["source"]), rows_of(known["predicted"]), {1, 2, 0}, 0.08);
    const auto share = [](double sum, int64_t count) {
      return count == 0 ? 0 : sum / static_cast<double>(count);
    };
    CHECK(share(static_cast<double>(counts.taken), counts.turns) ==
          doctest::Approx(known["accuracy"].get<double>()));
    CHECK(share(counts.latency_s, counts.taken) ==
          doctest::Approx(known["latency_s"].get<double>()));
    taken += counts.taken;
  }
  CHECK(taken > 10);
}
