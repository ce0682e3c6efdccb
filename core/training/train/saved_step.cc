#include "train/saved_step.h"

#include <ATen/ATen.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "duplex/batch_tensors.h"
#include "train/train_errors.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

using nlohmann::json;

constexpr const char* kStep = "s2s.step";  // metadata: one JSON object

/// JSON has no NaN: numbers as text, which reads back to the same bits.
std::string text_of(double value) { return fmt::format("{}", value); }
double number_of(const json& text) { return std::stod(text.get<std::string>()); }

constexpr const char* kOthers = "others/";  // in front of the names of Batch::others

json to_json(const std::vector<DocumentSpan>& documents) {
  json spans = json::array();
  for (const DocumentSpan& span : documents) {
    spans.push_back({span.row, span.begin, span.length});
  }
  return spans;
}

std::vector<DocumentSpan> documents_of(const json& spans) {
  std::vector<DocumentSpan> documents;
  for (const json& span : spans) documents.push_back({span.at(0), span.at(1), span.at(2)});
  return documents;
}

json to_json(const SavedStep& step) {
  json ids = json::array(), texts = json::array(), documents = json::array();
  for (const Batch& batch : step.batches) {
    ids.push_back(batch.ids);
    texts.push_back(batch.target_texts);
    documents.push_back(to_json(batch.documents));
  }
  return {{"step", step.step},
          {"reason", step.reason},
          {"loss", text_of(step.loss)},
          {"own_loss", text_of(step.own_loss)},
          {"grad_norm", text_of(step.grad_norm)},
          {"frames", text_of(step.frames)},
          {"data_rank", step.data_rank},
          {"data_size", step.data_size},
          {"num_ranks", step.num_ranks},
          {"weights", step.weights},
          {"weights_problem", step.weights_problem},
          {"data_state", step.data_state},
          {"ids", ids},
          {"target_texts", texts},
          {"documents", documents}};
}

SavedStep from_json(const json& object) {
  SavedStep step;
  step.step = object.at("step");
  step.reason = object.at("reason");
  step.loss = number_of(object.at("loss"));
  step.own_loss = number_of(object.at("own_loss"));
  step.grad_norm = number_of(object.at("grad_norm"));
  step.frames = number_of(object.at("frames"));
  step.data_rank = object.at("data_rank");
  step.data_size = object.at("data_size");
  step.num_ranks = object.at("num_ranks");
  step.weights = object.at("weights");
  step.weights_problem = object.at("weights_problem");
  step.data_state = object.at("data_state");
  for (const json& ids : object.at("ids")) {
    step.batches.emplace_back();
    step.batches.back().ids = ids.get<std::vector<std::string>>();
  }
  for (size_t i = 0; i < step.batches.size(); ++i) {
    step.batches[i].target_texts = object.at("target_texts").at(i).get<std::vector<std::string>>();
    if (object.contains("documents")) {
      step.batches[i].documents = documents_of(object.at("documents").at(i));
    }
  }
  return step;
}

std::string tensor_name(size_t batch, const std::string& name) {
  return std::to_string(batch) + "/" + name;
}

}  // namespace

std::vector<std::pair<std::string, at::Tensor*>> named_tensors(Batch& batch) {
  std::vector<std::pair<std::string, at::Tensor*>> named;
  for (const BatchTensor& tensor : kBatchTensors) {
    named.emplace_back(tensor.name, &(batch.*tensor.rows));
    if (tensor.lengths_B == nullptr) continue;
    named.emplace_back(tensor.lengths_name, &(batch.*tensor.lengths_B));
  }
  for (auto& [name, tensor] : batch.others) named.emplace_back(kOthers + name, &tensor);
  return named;
}

void write_saved_step(const std::string& path, const SavedStep& step) {
  TensorMap tensors;
  for (size_t i = 0; i < step.batches.size(); ++i) {
    Batch batch = step.batches[i].to(at::kCPU);
    for (const auto& [name, tensor] : named_tensors(batch)) {
      if (tensor->defined()) tensors[tensor_name(i, name)] = tensor->contiguous();
    }
  }
  write_safetensors(path, tensors,
                    {{kStep, to_json(step).dump(-1, ' ', false, json::error_handler_t::replace)}});
}

SavedStep read_saved_step(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const auto found = file.metadata().find(kStep);
  if (found == file.metadata().end()) throw_no_saved_step(path, "it has no metadata 's2s.step'");
  SavedStep step;
  try {
    step = from_json(parse_foreign_json(found->second));
  } catch (const std::exception& error) {
    throw_no_saved_step(path, error.what());
  }
  for (size_t i = 0; i < step.batches.size(); ++i) {
    const std::string others = tensor_name(i, kOthers);
    for (const auto& [name, entry] : file.entries()) {
      if (name.starts_with(others)) step.batches[i].others[name.substr(others.size())];
    }
    for (const auto& [name, tensor] : named_tensors(step.batches[i])) {
      const std::string full = tensor_name(i, name);
      if (file.contains(full)) *tensor = file.tensor(full).clone();
    }
  }
  return step;
}

}  // namespace s2s
