// The arithmetic of the token channels, apart from any network.

#include "plugins/models/duplex_s2s/channels.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/rows.h"

using namespace s2s;
using namespace s2s::duplex_s2s;

namespace {

const SpecialIds kText{1, 2, 0};  // BOS, EOS, PAD
const SpeechIds kSpeech(10);      // control codes 10, 11, 12

at::Tensor ids(std::vector<int64_t> values) { return at::tensor(values, at::kLong).unsqueeze(0); }

/// Two codebooks from rows of frames: {{k0, k1}, ...} -> [1, T, 2].
at::Tensor codes(std::vector<std::vector<int64_t>> frames) {
  std::vector<at::Tensor> rows;
  for (const auto& frame : frames) rows.push_back(at::tensor(frame, at::kLong));
  return at::stack(rows).unsqueeze(0);
}

at::Tensor turns(std::vector<int64_t> tokens) { return agent_turn_mask(ids(tokens), kText); }

at::Tensor mask(std::vector<int64_t> values) { return ids(values).to(at::kBool); }

}  // namespace

TEST_CASE("control codes are above the codec's alphabet") {
  CHECK(kSpeech.bos == 10);
  CHECK(kSpeech.eos == 11);
  CHECK(kSpeech.delay == 12);
}

TEST_CASE("channels: control codes where a turn begins and ends, one frame of delay, labels next") {
  const at::Tensor tokens = ids({0, 1, 7, 2, 0, 0});
  const at::Tensor spoken = codes({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {3, 4}});
  const Channels channels = make_channels(tokens, spoken, kText, kSpeech);
  CHECK(channels.text_in_BT.equal(ids({0, 1, 7, 2, 0})));
  CHECK(channels.text_labels_BT.equal(ids({1, 7, 2, 0, 0})));
  CHECK(channels.audio_in_BTK.equal(codes({{12, 12}, {0, 1}, {10, 10}, {4, 5}, {11, 11}})));
  CHECK(channels.audio_labels_BTK.equal(codes({{0, 1}, {10, 10}, {4, 5}, {11, 11}, {8, 9}})));
}

TEST_CASE("channels: rows of a batch do not meet, and the given codes stay as they are") {
  const at::Tensor tokens = at::cat({ids({1, 7, 2}), ids({0, 0, 1})});
  const at::Tensor spoken = codes({{1, 2}, {3, 4}, {5, 6}}).repeat({2, 1, 1});
  const at::Tensor before = spoken.clone();
  const Channels channels = make_channels(tokens, spoken, kText, kSpeech);
  CHECK(channels.audio_labels_BTK[0].equal(codes({{10, 10}, {3, 4}})[0]));
  CHECK(channels.audio_labels_BTK[1].equal(codes({{1, 2}, {3, 4}})[0]));
  CHECK(spoken.equal(before));
}

TEST_CASE("a text channel is cut to the common width, or goes on with silence") {
  CHECK(fit_columns(ids({1, 7, 2, 0}), 2, 0).equal(ids({1, 7})));
  CHECK(fit_columns(ids({1, 7}), 4, 9).equal(ids({1, 7, 9, 9})));
  CHECK(fit_columns(ids({1, 7}), 2, 9).equal(ids({1, 7})));
}

TEST_CASE("the agent's turns run from BOS to the frame of EOS, or to the end") {
  CHECK(turns({0, 1, 7, 2, 0, 1, 9, 0}).equal(mask({0, 1, 1, 1, 0, 1, 1, 1})));
  CHECK(turns({1, 2, 1, 0}).equal(mask({1, 1, 1, 1})));
  CHECK(turns({0, 2, 0, 5}).equal(mask({0, 0, 0, 0})));
  CHECK(turns({1, 7, 1, 7, 2, 8}).equal(mask({1, 1, 1, 1, 1, 0})));
}

TEST_CASE("before decoding, every control code becomes its codebook's silence") {
  const at::Tensor silence = at::tensor({4, 5}, at::kLong);
  // Also in the first frame, where NeMo would leave a control code in.
  CHECK(replace_control_codes(codes({{12, 0}, {9, 10}, {11, 3}}), silence, kSpeech)
            .equal(codes({{4, 0}, {9, 5}, {4, 3}})));
}
