#include "compare/reference_file.h"

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>

#include <algorithm>

#include "base/number_text.h"
#include "base/pcg64.h"
#include "s2s/nn/weights.h"
#include "train/train_errors.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

std::string required(const SafetensorsFile& file, const std::string& key,
                     const std::string& expected) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end() || it->second.empty()) {
    throw reference_metadata_error(file.path(), key, "", expected);
  }
  return it->second;
}

double tolerance(const SafetensorsFile& file, const std::string& key) {
  const std::string text = required(file, key, "a number");
  const auto value = read_number<double>(text);
  if (value && *value >= 0) return *value;
  throw reference_metadata_error(file.path(), key, text, "a number of at least 0");
}

/// Reads the optional metadata key "bfloat16": {"draws", "nudge", "errors": {NAME: NUMBER}}.
std::optional<RoundingReference> read_rounding(const SafetensorsFile& file) {
  const auto it = file.metadata().find("bfloat16");
  if (it == file.metadata().end()) return {};
  const Config root = parse_json(it->second, file.path() + " (bfloat16)");
  const Config* errors = root.find("errors");
  const Config* draws = root.find("draws");
  const Config* nudge = root.find("nudge");
  if (errors == nullptr || !errors->is_map() || draws == nullptr || nudge == nullptr) {
    throw reference_metadata_error(file.path(), "bfloat16", it->second,
                                   "an object of draws, nudge and errors");
  }
  RoundingReference rounding;
  rounding.draws = draws->as_int("bfloat16.draws");
  rounding.nudge = nudge->as_double("bfloat16.nudge");
  if (rounding.draws < 1) {
    throw reference_metadata_error(file.path(), "bfloat16", it->second, "draws of at least 1");
  }
  for (const auto& [name, value] : errors->entries()) {
    rounding.errors[name] = value.as_double("bfloat16.errors." + name);
  }
  return rounding;
}

/// The text of preprocessor_config.json is the block `preprocessor` of an encoder's options, as in
/// a folder (with_encoder_folder).
void add_preprocessor(const SafetensorsFile& file, ReferenceFile& reference) {
  const auto it = file.metadata().find("preprocessor");
  if (it == file.metadata().end() || reference.kind != "encoder") return;
  reference.options["preprocessor"] = parse_json(it->second, file.path() + " (preprocessor)");
}

std::optional<int64_t> optional_count(const SafetensorsFile& file, const std::string& key) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end()) return {};
  const auto value = read_number<int64_t>(it->second);
  if (value && *value >= 1) return *value;
  throw reference_metadata_error(file.path(), key, it->second, "a number of at least 1");
}

/// One tensor's entry in the metadata `drawn` or `sampled`, {NAME: {"seed", "shape", ...}}.
struct Entry {
  const SafetensorsFile& file;
  std::string place;  // "drawn.weights/NAME"
  const Config& values;

  const Config& at(const char* key) const {
    const Config* found = values.find(key);
    if (found == nullptr) {
      throw reference_metadata_error(file.path(), place + "." + key, "", "its value");
    }
    return *found;
  }
  double number(const char* key) const { return at(key).as_double(place + "." + key); }
  uint64_t seed() const { return static_cast<uint64_t>(at("seed").as_int(place + ".seed")); }

  /// Numbers of at least 0 whose product is at most 2^`most_bits`: the sizes of a tensor. The limit
  /// is needed because the file does not contain the tensor's bytes.
  std::vector<int64_t> sizes(const char* key, int most_bits = 24) const {
    const int64_t most = int64_t{1} << most_bits;
    std::vector<int64_t> sizes;
    int64_t product = 1;
    for (const Config& item : at(key).items()) {
      sizes.push_back(item.as_int(place + "." + key));
      if (sizes.back() < 0 || sizes.back() > most / std::max<int64_t>(product, 1)) {
        throw reference_metadata_error(
            file.path(), place + "." + key, item.text(),
            "sizes of a tensor of at most 2^" + std::to_string(most_bits) + " elements");
      }
      product *= sizes.back();
    }
    return sizes;
  }
};

template <class Take>
void for_each_entry(const SafetensorsFile& file, const std::string& key, Take take) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end()) return;
  const Config root = parse_json(it->second, file.path() + " (" + key + ")");
  for (const auto& [name, values] : root.entries()) {
    take(name, Entry{file, key + "." + name, values});
  }
}

/// Returns numpy.random.default_rng(seed).uniform(low, high, shape) in float32. With `lengths`,
/// row r is zero from element lengths[r] on.
at::Tensor draw(const Entry& entry) {
  at::Tensor tensor = at::empty(entry.sizes("shape"));
  Pcg64 generator(entry.seed());
  const double low = entry.number("low");
  const double high = entry.number("high");
  auto* const values = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    values[i] = static_cast<float>(generator.uniform(low, high));
  }
  const Config* lengths = entry.values.find("lengths");
  if (lengths == nullptr) return tensor;
  const std::string place = entry.place + ".lengths";
  if (tensor.dim() < 2 || lengths->items().size() != static_cast<size_t>(tensor.size(0))) {
    throw reference_metadata_error(entry.file.path(), place, "of another size", "one for each row");
  }
  int64_t row = 0;
  for (const Config& length : lengths->items()) {
    tensor.select(0, row++).slice(0, std::max<int64_t>(length.as_int(place), 0)).zero_();
  }
  return tensor;
}

std::map<std::string, SampledTensor> read_sampled(const SafetensorsFile& file) {
  std::map<std::string, SampledTensor> sampled;
  for_each_entry(file, "sampled", [&](const std::string& name, const Entry& entry) {
    sampled[name] = {entry.seed(), entry.number("norm"), entry.sizes("shape", 40)};
  });
  return sampled;
}

/// Returns a tensor that is zero but for some elements.
at::Tensor scatter(const Entry& entry, const at::Tensor& values, const at::Tensor& index) {
  at::Tensor tensor = at::zeros(entry.sizes("shape"), values.options());
  const at::Tensor places = index.to(at::kLong);
  const bool fits = index.dim() == 1 && index.sizes() == values.sizes() &&
                    (places.ge(0) & places.lt(tensor.numel())).all().item<bool>();
  if (!fits) {
    throw reference_metadata_error(entry.file.path(), entry.place, "of another size",
                                   "an index into the shape for each element");
  }
  tensor.view(-1).index_copy_(0, places, values);
  return tensor;
}

/// Returns the tensors of a group ("weights/"), also those that the file has drawn or sparse.
TensorMap whole_tensors(const SafetensorsFile& file, const std::string& group) {
  TensorMap tensors = file.tensors(group);
  const TensorMap index = file.tensors("index/" + group);
  for_each_entry(file, "sparse", [&](const std::string& name, const Entry& entry) {
    const std::string key = name.starts_with(group) ? name.substr(group.size()) : "";
    if (tensors.contains(key) && index.contains(key)) {
      tensors[key] = scatter(entry, tensors[key], index.at(key));
    }
  });
  for_each_entry(file, "drawn", [&](const std::string& name, const Entry& entry) {
    if (name.starts_with(group)) tensors[name.substr(group.size())] = draw(entry);
  });
  return tensors;
}

/// Returns the tensors "after/<n>/<name>", grouped by n.
std::map<int64_t, TensorMap> read_after(const SafetensorsFile& file) {
  std::map<int64_t, TensorMap> after;
  for (auto& [name, tensor] : file.tensors("after/")) {
    const size_t slash = name.find('/');
    const int64_t steps = read_number<int64_t>(name.substr(0, slash)).value_or(0);
    if (slash == std::string::npos || steps < 1) {
      throw reference_metadata_error(file.path(), "after/" + name, name, "after/STEPS/NAME");
    }
    after[steps][name.substr(slash + 1)] = tensor;
  }
  return after;
}

}  // namespace

const at::Tensor& ReferenceFile::input(const std::string& tensor) const {
  const auto it = inputs.find(tensor);
  if (it == inputs.end()) throw reference_input_error(path, kind, "input/" + tensor);
  return it->second;
}

at::Tensor ReferenceFile::output(const std::string& tensor) const {
  const auto it = outputs.find(tensor);
  return it == outputs.end() ? at::Tensor() : it->second;
}

at::Tensor SampledTensor::indices(int64_t count) const {
  const auto numel = static_cast<double>(c10::multiply_integers(shape));
  Pcg64 generator(seed);
  at::Tensor indices = at::empty({count}, at::kLong);
  for (int64_t i = 0; i < count; ++i) {
    indices.data_ptr<int64_t>()[i] = static_cast<int64_t>(generator.random() * numel);
  }
  return indices;
}

ReferenceFile read_reference(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  const std::string version = required(file, "s2s.reference", "'1'");
  if (version != "1") throw reference_metadata_error(path, "s2s.reference", version, "'1'");
  ReferenceFile reference;
  reference.path = path;
  reference.kind = required(file, "kind", "scorer, llm, encoder, codec or model");
  reference.name = required(file, "name", "a component's name");
  reference.options =
      parse_json(required(file, "options", "the source's configuration"), path + " (options)");
  add_preprocessor(file, reference);
  reference.rtol = tolerance(file, "rtol");
  reference.atol = tolerance(file, "atol");
  reference.weights = whole_tensors(file, "weights/");
  reference.inputs = whole_tensors(file, "input/");
  reference.outputs = file.tensors("output/");
  reference.grads = file.tensors("grad/");
  reference.after = read_after(file);
  reference.sampled = read_sampled(file);
  reference.bfloat16 = read_rounding(file);
  reference.first_books = optional_count(file, "first_books");
  return reference;
}

}  // namespace s2s
