#include "s2s/data/label_prep.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/reference_json.h"

namespace {

using s2s::SpecialIds;
using s2s::TextShiftOptions;
using Rows = std::vector<std::vector<int64_t>>;

constexpr SpecialIds kIds{1, 2, 0};

at::Tensor tensor_of(const Rows& rows) {
  std::vector<at::Tensor> stacked;
  for (const auto& row : rows) stacked.push_back(at::tensor(row, at::kLong));
  return at::stack(stacked);
}

Rows rows_of(const at::Tensor& tokens_BT) {
  Rows rows;
  for (int64_t b = 0; b < tokens_BT.size(0); ++b) {
    const at::Tensor row = tokens_BT[b].contiguous();
    rows.emplace_back(row.const_data_ptr<int64_t>(), row.const_data_ptr<int64_t>() + row.numel());
  }
  return rows;
}

TextShiftOptions shifts_of(const nlohmann::json& options) {
  TextShiftOptions shifts;
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, int64_t*>>{
           {"advance_text_channel_by", &shifts.advance_text_channel_by},
           {"delay_text_channel_by", &shifts.delay_text_channel_by},
           {"delay_text_eos_by", &shifts.delay_text_eos_by},
           {"delay_text_bos_by", &shifts.delay_text_bos_by},
           {"delay_source_text_by", &shifts.delay_source_text_by}}) {
    *value = options.value(key, int64_t{0});
  }
  return shifts;
}

}  // namespace

TEST_CASE("shifted text channels equal those of NeMo's label preparation") {
  const auto golden = s2s::test::reference_json("nemo_label_prep.json.gz");
  REQUIRE(golden["labels"].size() > 100);
  int64_t with_user = 0;
  for (const auto& known : golden["labels"]) {
    CAPTURE(known.dump());
    const SpecialIds ids{known["ids"][0], known["ids"][1], known["ids"][2]};
    const TextShiftOptions shifts = shifts_of(known["options"]);
    at::Tensor agent_BT = shift_agent_text(tensor_of(known["target_tokens"]), shifts, ids);
    if (known.contains("source_tokens")) {
      // NeMo cuts both channels to the shorter one before it delays the user's.
      at::Tensor user_BT = tensor_of(known["source_tokens"]);
      const int64_t width = std::min(user_BT.size(1), agent_BT.size(1));
      agent_BT = agent_BT.narrow(1, 0, width);
      user_BT = shift_user_text(user_BT.narrow(1, 0, width), shifts, ids);
      CHECK(rows_of(user_BT.narrow(1, 0, width - 1)) == known["output"]["asr_inputs"].get<Rows>());
      CHECK(rows_of(user_BT.narrow(1, 1, width - 1)) == known["output"]["asr_labels"].get<Rows>());
      ++with_user;
    }
    const int64_t width = agent_BT.size(1);
    CHECK(rows_of(agent_BT.narrow(1, 0, width - 1)) == known["output"]["text_inputs"].get<Rows>());
    CHECK(rows_of(agent_BT.narrow(1, 1, width - 1)) == known["output"]["text_labels"].get<Rows>());
  }
  CHECK(with_user > 50);
}

TEST_CASE("a mark stays where another mark or the end of the channel is in its way") {
  const Rows tokens{{2, 7, 2, 8, 0, 2}};
  CHECK(rows_of(s2s::delay_marks(tensor_of(tokens), 2, 0, 2)) == Rows{{2, 7, 0, 8, 2, 2}});
  CHECK(rows_of(s2s::delay_marks(tensor_of(tokens), 2, 0, 1)) == Rows{{0, 2, 0, 2, 0, 2}});
  CHECK(rows_of(s2s::delay_marks(tensor_of(tokens), 2, 0, 6)) == tokens);
}

TEST_CASE("a shift of at least the width leaves silence of the same width") {
  const Rows tokens{{1, 7, 2}};
  TextShiftOptions late;
  late.delay_text_channel_by = 5;
  late.delay_source_text_by = 3;
  TextShiftOptions early;
  early.advance_text_channel_by = 3;
  const Rows silence{{0, 0, 0}};
  CHECK(rows_of(shift_agent_text(tensor_of(tokens), late, kIds)) == silence);
  CHECK(rows_of(shift_user_text(tensor_of(tokens), late, kIds)) == silence);
  CHECK(rows_of(shift_agent_text(tensor_of(tokens), early, kIds)) == silence);
}

TEST_CASE("without shifts the channels stay the same tensors") {
  const at::Tensor tokens_BT = tensor_of({{1, 7, 2}});
  CHECK(shift_agent_text(tokens_BT, {}, kIds).is_same(tokens_BT));
  CHECK(shift_user_text(tokens_BT, {}, kIds).is_same(tokens_BT));
  CHECK_FALSE(TextShiftOptions{}.any_of_agent());
}
