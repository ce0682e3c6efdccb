// s2s-run checkpoint inspect PATH: prints what a checkpoint contains, without reading its elements.

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "s2s_run/checkpoint/checkpoint_facts.h"
#include "s2s_run/columns.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"
#include "weights/safetensors_header.h"
#include "weights/shape_text.h"
#include "weights/tensor_runs.h"

namespace s2s::run {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  int64_t elements = 0;
  int64_t bytes = 0;
  std::map<std::string, int64_t> tensors;  // by dtype
};

int64_t count(const TensorFacts& tensor) { return count_elements(tensor.sizes); }

/// Views of one storage can add up to more than 2^63 bytes.
void add_capped(int64_t& total, int64_t more) {
  if (__builtin_add_overflow(total, more, &total)) total = INT64_MAX;
}

int64_t bytes_of(const TensorFacts& tensor) {
  return count(tensor) * static_cast<int64_t>(c10::elementSize(tensor.dtype));
}

Totals total(const WeightFiles& files) {
  Totals totals;
  for (const auto& [name, tensor] : files.facts()) {
    add_capped(totals.elements, count(tensor));
    add_capped(totals.bytes, bytes_of(tensor));
    ++totals.tensors[type_text(tensor.dtype)];
  }
  return totals;
}

std::string totals_text(const Totals& totals, size_t num_tensors) {
  std::string types;
  for (const auto& [type, number] : totals.tensors) {
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", number, type);
  }
  return fmt::format("{} ({}), {} elements, {} bytes", num_tensors, types, totals.elements,
                     totals.bytes);
}

void print_text(const std::string& path, const CheckpointFacts& facts, const WeightFiles& files) {
  std::vector<std::vector<std::string>> head = {{"path", path}, {"kind", kind_text(facts.kind)}};
  for (const auto& [label, value] : facts.lines) head.push_back({label, value});
  head.push_back({"tensors", totals_text(total(files), files.facts().size())});
  print_columns(head);
  std::vector<std::vector<std::string>> rows = {{"name", "type", "shape", "bytes"}};
  for (const auto& [name, tensor] : files.facts()) {
    rows.push_back({name, type_text(tensor.dtype), shape_text(tensor.sizes),
                    std::to_string(bytes_of(tensor))});
  }
  std::printf("\n");
  print_columns(rows);
}

void print_json(const std::string& path, const CheckpointFacts& facts, const WeightFiles& files) {
  const Totals totals = total(files);
  Json json = {{"path", path}, {"kind", kind_text(facts.kind)}, {"facts", Json::object()}};
  for (const auto& [label, value] : facts.lines) json["facts"][label] = value;
  json["numbers"] = totals.elements;
  json["bytes"] = totals.bytes;
  json["types"] = totals.tensors;
  json["tensors"] = Json::array();
  for (const auto& [name, tensor] : files.facts()) {
    json["tensors"].push_back({{"name", name},
                               {"type", type_text(tensor.dtype)},
                               {"shape", tensor.sizes},
                               {"bytes", bytes_of(tensor)}});
  }
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

int inspect(const std::string& given, const Invocation& invocation) {
  const std::string path = checkpoint_of(given);
  const CheckpointFacts facts = describe_checkpoint(path);
  const WeightFiles files = WeightFiles::open(facts.weights);
  if (invocation.json) {
    print_json(path, facts, files);
  } else {
    print_text(path, facts, files);
  }
  return 0;
}

}  // namespace

void setup_checkpoint_inspect(const Command& group) {
  const Command command = group.command(
      "inspect", "print what a checkpoint contains: kind, step, tensors, dtypes, shapes, bytes");
  command
      .option("path", command.runs(inspect),
              "a checkpoint, a Hugging Face folder, a weight file (.safetensors, .bin, .ckpt) "
              "or a .nemo archive")
      .required();
  command.json("print JSON");
}

}  // namespace s2s::run
