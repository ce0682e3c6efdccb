#include "text_scores.h"

#include <ATen/ATen.h>

#include <unordered_set>

namespace s2s::speech_recognizer {
namespace {

/// The rows of states as one.
TransducerDecoder::State joined(const std::vector<const TransducerDecoder::State*>& states) {
  TransducerDecoder::State all = *states.front();
  const auto cat = [&](const auto& member) {
    std::vector<at::Tensor> rows;
    for (const TransducerDecoder::State* state : states) rows.push_back(member(*state));
    return rows.size() == 1 ? rows.front() : at::cat(rows);
  };
  for (size_t i = 0; i < all.h.size(); ++i) {
    all.h[i] = cat([&](const TransducerDecoder::State& state) { return state.h[i]; });
    all.c[i] = cat([&](const TransducerDecoder::State& state) { return state.c[i]; });
  }
  all.joint_AJ = cat([](const TransducerDecoder::State& state) { return state.joint_AJ; });
  return all;
}

TransducerDecoder::State state_of_row(const TransducerDecoder::State& all, int64_t row) {
  TransducerDecoder::State one = all;
  for (at::Tensor& h : one.h) h = h.narrow(0, row, 1);
  for (at::Tensor& c : one.c) c = c.narrow(0, row, 1);
  one.joint_AJ = all.joint_AJ.narrow(0, row, 1);
  return one;
}

std::vector<float> floats_of(const at::Tensor& row) {
  const float* values = row.const_data_ptr<float>();
  return {values, values + row.numel()};
}

}  // namespace

TextScores::TextScores(const SearchedTransducer& searched, int64_t clip, double temperature)
    : searched_(searched),
      frames_TJ_(searched.frames_ATJ.select(0, clip)),
      temperature_(temperature) {
  states_.emplace(0, searched.decoder.begin(1));
}

void TextScores::run(const std::vector<int64_t>& of_texts) {
  std::vector<int64_t> asked, labels, before;
  for (const int64_t text : of_texts) {
    if (states_.count(text) != 0 || std::find(asked.begin(), asked.end(), text) != asked.end()) {
      continue;
    }
    asked.push_back(text);
    labels.push_back(texts.label(text));
    before.push_back(texts.before(text));
  }
  if (asked.empty()) return;
  run(before);
  std::vector<const TransducerDecoder::State*> states;
  for (const int64_t text : before) states.push_back(&states_.at(text));
  TransducerDecoder::State state = joined(states);
  searched_.decoder.feed(state, at::tensor(labels, at::kLong).to(frames_TJ_.device()));
  for (size_t i = 0; i < asked.size(); ++i) {
    states_.emplace(asked[i], state_of_row(state, static_cast<int64_t>(i)));
  }
}

std::vector<TextScores::Row> TextScores::rows(int64_t frame, const std::vector<int64_t>& of_texts) {
  run(of_texts);
  std::vector<at::Tensor> projected;
  for (const int64_t text : of_texts) projected.push_back(states_.at(text).joint_AJ);
  const at::Tensor scores_NV =
      searched_.decoder
          .joint(frames_TJ_.narrow(0, frame, 1).unsqueeze(0), at::cat(projected).unsqueeze(0))
          .flatten(0, 2) /
      temperature_;
  const int64_t num_labels = searched_.options.num_labels();
  const at::Tensor labels_NV =
      at::log_softmax(scores_NV.narrow(1, 0, num_labels), 1).to(at::kCPU, at::kFloat).contiguous();
  at::Tensor durations_ND = scores_NV.slice(1, num_labels, scores_NV.size(1));
  if (durations_ND.size(1) > 0) {
    durations_ND = at::log_softmax(durations_ND, 1).to(at::kCPU, at::kFloat).contiguous();
  }
  std::vector<Row> found;
  for (int64_t i = 0; i < labels_NV.size(0); ++i) {
    found.push_back({floats_of(labels_NV[i]), {}});
    if (durations_ND.size(1) > 0) found.back().durations = floats_of(durations_ND[i]);
  }
  return found;
}

void TextScores::keep(const std::vector<int64_t>& of_texts, int64_t labels_before) {
  std::unordered_set<int64_t> kept = {0};
  for (int64_t text : of_texts) {
    for (int64_t i = 0; i <= labels_before && text > 0; ++i) {
      kept.insert(text);
      text = texts.before(text);
    }
  }
  std::erase_if(states_, [&](const auto& entry) { return kept.count(entry.first) == 0; });
}

}  // namespace s2s::speech_recognizer
