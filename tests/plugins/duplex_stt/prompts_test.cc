#include "plugins/models/duplex_stt/prompts.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "common/reference_json.h"

using namespace s2s::duplex_stt;

namespace {

at::Tensor lens_of(const nlohmann::json& lens) {
  return at::tensor(lens.get<std::vector<int64_t>>(), at::kLong);
}

at::Tensor rows_of(const nlohmann::json& rows) {
  std::vector<at::Tensor> stacked;
  for (const auto& row : rows) stacked.push_back(lens_of(row));
  return at::stack(stacked);
}

}  // namespace

TEST_CASE("prompts are in front of frames and channels as in NeMo's label preparation") {
  const auto golden = s2s::test::reference_json("nemo_label_prep.json.gz");
  REQUIRE(golden["prompts"].size() > 20);
  for (const auto& known : golden["prompts"]) {
    CAPTURE(known.dump());
    const int64_t pad = known["ids"][2];
    const at::Tensor prompt_BP = rows_of(known["prompt_tokens"]);
    const at::Tensor prompt_lens_B = lens_of(known["prompt_token_lens"]);
    const int64_t rows = prompt_BP.size(0), frames = known["frames"];
    const at::Tensor frames_BT1 = (at::arange(frames, at::kLong).unsqueeze(0) +
                                   100 * at::arange(rows, at::kLong).unsqueeze(1))
                                      .unsqueeze(-1);
    const auto& out = known["output"];
    const at::Tensor heard = prepend_rows((-prompt_BP - 1).unsqueeze(-1), prompt_lens_B, frames_BT1,
                                          lens_of(known["frame_lens"]), 0);
    CHECK(heard.squeeze(-1).equal(rows_of(out["source_encoded"])));
    for (const std::string side : {"target", "source"}) {
      if (!known.contains(side + "_tokens")) continue;
      const at::Tensor tokens_BT =
          prepend_silence(rows_of(known[side + "_tokens"]), lens_of(known[side + "_token_lens"]),
                          prompt_lens_B, prompt_BP.size(1), pad);
      CHECK(tokens_BT.equal(rows_of(out[side + "_tokens"])));
    }
  }
}

TEST_CASE("cut_front removes the front of each row and fills after its length") {
  const at::Tensor tokens_BT = at::arange(10, at::kLong).view({2, 5});
  const at::Tensor cut =
      cut_front(tokens_BT, at::tensor({1, 3}, at::kLong), at::tensor({3, 2}, at::kLong), 4, -1);
  CHECK(cut.equal(at::tensor({1, 2, 3, -1, 8, 9, -1, -1}, at::kLong).view({2, 4})));
}
