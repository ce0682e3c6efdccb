// Conformance checks of tokenizers and data sources.

#include <ATen/ATen.h>

#include <algorithm>

#include "answers.h"

namespace s2s::conformance {

Answers broken_promises(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  Questions questions;
  const SpecialIds ids = tokenizer.special_ids();
  const int64_t size = tokenizer.vocab_size();
  for (const auto& [name, id] : {std::pair{"bos", ids.bos}, {"eos", ids.eos}, {"pad", ids.pad}}) {
    questions.ask(id >= 0 && id < size, std::string(name) + " is not an id of the vocabulary");
  }
  questions.ask(ids.bos != ids.eos && ids.eos != ids.pad && ids.bos != ids.pad,
                "bos, eos and pad are not three different ids");
  for (const std::string& text : texts) {
    const std::vector<int64_t> encoded = tokenizer.encode(text);
    for (const int64_t id : encoded) {
      questions.ask(id >= 0 && id < size,
                    "'" + text + "' is encoded to an id outside the vocabulary");
      questions.ask(id != ids.bos && id != ids.eos && id != ids.pad,
                    "'" + text + "' is encoded to a special id");
    }
    questions.ask(tokenizer.decode(encoded) == text,
                  "'" + text + "' is decoded to '" + tokenizer.decode(encoded) + "'");
    std::vector<int64_t> framed = encoded;
    framed.insert(framed.begin(), {ids.pad, ids.bos});
    framed.push_back(ids.eos);
    questions.ask(tokenizer.decode(framed) == tokenizer.decode(encoded),
                  "decode does not skip special ids in '" + text + "'");
  }
  return questions.take();
}

namespace {

bool same(const std::optional<Batch>& a, const std::optional<Batch>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  std::vector<at::Tensor> tensors, others;
  a->for_each([&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  b->for_each([&](const at::Tensor& tensor) { others.push_back(tensor); });
  return a->ids == b->ids &&
         std::equal(tensors.begin(), tensors.end(), others.begin(), others.end(),
                    [](const at::Tensor& x, const at::Tensor& y) { return x.equal(y); });
}

}  // namespace

Answers broken_promises(const std::function<std::unique_ptr<DataSource>()>& open, int num_batches) {
  Questions questions;
  const auto first = open(), second = open(), third = open();
  std::vector<std::optional<Batch>> batches;
  std::vector<std::string> states;
  for (int i = 0; i < num_batches; ++i) {
    states.push_back(first->state());
    batches.push_back(first->next());
    questions.ask(same(batches.back(), second->next()),
                  "batch " + std::to_string(i) + " differs when the source is opened again");
  }
  for (int i = 0; i < num_batches; ++i) {
    third->restore(states[static_cast<size_t>(i)]);
    for (int k = i; k < std::min(i + 2, num_batches); ++k) {
      questions.ask(same(batches[static_cast<size_t>(k)], third->next()),
                    "batch " + std::to_string(k) + " differs after restoring the state before " +
                        std::to_string(i));
    }
  }
  third->restore("");
  questions.ask(num_batches == 0 || same(batches.front(), third->next()),
                "restore(\"\") does not return to the first batch");
  return questions.take();
}

}  // namespace s2s::conformance
