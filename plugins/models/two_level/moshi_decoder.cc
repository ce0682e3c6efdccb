#include "moshi_decoder.h"

#include <ATen/ATen.h>

namespace s2s::two_level {
namespace {

Init normal_init(const DecoderSpec& spec) { return {Init::Kind::kNormal, spec.initializer_range}; }

DecoderSpec with_parts(DecoderSpec spec) {
  spec.shape.vocab_size += 1;
  spec.shape.tied_head = true;  // no head of its own
  spec.feed_forward = [](const DecoderSpec& of, int64_t) {
    return NamedPart<FeedForward>{"mlp", std::make_unique<PackedMlp>(of)};
  };
  return spec;
}

}  // namespace

PackedMlp::PackedMlp(const DecoderSpec& spec)
    : fc1(spec.shape.hidden_size, 2 * spec.shape.intermediate_size, false, normal_init(spec)),
      fc2(spec.shape.intermediate_size, spec.shape.hidden_size, false, normal_init(spec)) {
  register_block("fc1", fc1);
  register_block("fc2", fc2);
}

PackedMlp::~PackedMlp() = default;

at::Tensor PackedMlp::forward(const at::Tensor& x_BTH) {
  const auto halves = fc1(x_BTH).chunk(2, -1);
  return fc2(at::silu(halves[0]) * halves[1]);
}

MoshiDecoder::MoshiDecoder(DecoderSpec spec) : Decoder(with_parts(std::move(spec))) {}

MoshiDecoder::~MoshiDecoder() = default;

ShardPlan MoshiDecoder::configure_model(const MeshShape&) const {
  std::vector<TensorRow> rows = decoder_rows(spec());
  std::erase_if(rows, [](const TensorRow& row) { return row.module.ends_with(".gate_proj"); });
  for (TensorRow& row : rows) {
    if (row.module.ends_with(".up_proj")) {
      row.module = "layers.*.mlp.fc1";
      row.stacked = 2;
    }
    if (row.module.ends_with(".down_proj")) row.module = "layers.*.mlp.fc2";
  }
  ShardPlan plan = plan_with(std::move(rows), {{"layers.*"}});
  plan.heads.clear();
  for (Divisor& divisor : plan.divisors) {
    if (divisor.name == "intermediate_size") divisor.name = "ffn_dim / 2";
  }
  return plan;
}

}  // namespace s2s::two_level
