// A meta model gets memory and initial values part by part: the same bits as in one process.

#include <doctest/doctest.h>

#include <fstream>
#include <limits>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "parallel/started_model.h"
#include "parallel/trained_models.h"
#include "plugins/duplex_s2s/duplex_fixture.h"
#include "s2s/kinds/encoder.h"
#include "weights/safetensors.h"

using namespace s2s;
using namespace s2s::test;

namespace {

const std::string kFiles = s2s::test::source_dir() + "/tests/reference/data/";

/// One process's parameters, buffers, and the names of what trains.
struct Whole {
  TensorMap parameters, buffers;
  std::set<std::string> trained;
};

Whole in_one_process(const Registries& registries, const Started& started) {
  const auto model = started.make(registries);
  const auto values = described(started, *model);
  values->fill(model->named_parameters());
  Whole whole;
  for (const NamedTensor& parameter : model->named_parameters()) {
    whole.parameters[parameter.name] = parameter.tensor->detach().to(at::kFloat);
    if (parameter.tensor->requires_grad()) whole.trained.insert(parameter.name);
  }
  for (const NamedTensor& buffer : model->named_buffers()) {
    if (buffer.tensor->defined()) whole.buffers[buffer.name] = *buffer.tensor;
  }
  return whole;
}

/// A rank's start, compared with one process.
void check_rank(const Registries& registries, const Started& started, const RunLayout& layout,
                Communicator* world, const Whole& whole, TensorMap& all) {
  const auto model = started.make(registries);
  const auto values = described(started, *model);
  const auto strategy = strategy_of(registries, layout, world);
  attach(*strategy, *model, *values);
  for (const NamedTensor& shard : strategy->optimizer_parameters(*model)) {
    if (!whole.trained.contains(shard.name)) throw std::runtime_error(shard.name + " trains");
  }
  for (const NamedTensor& buffer : model->named_buffers()) {
    if (!buffer.tensor->defined()) continue;
    if (!at::equal(*buffer.tensor, whole.buffers.at(buffer.name))) {
      throw std::runtime_error(buffer.name + " differs");
    }
  }
  add_parts(parameters_of(strategy->parts(*model), *model), all);
}

/// Largest difference, which has to be none; elements that no rank holds count as one.
void check_bits(const Registries& registries, const Started& started,
                const std::vector<RunLayout>& layouts) {
  const Whole whole = in_one_process(registries, started);
  for (const RunLayout& layout : layouts) {
    CAPTURE(started.name);
    CAPTURE(layout.name);
    TensorMap all;
    std::vector<std::string> errors;
    const auto rank = [&](Communicator& world) {
      check_rank(registries, started, layout, layout.num_ranks == 1 ? nullptr : &world, whole, all);
    };
    for (const std::string& error : run_thread_ranks(layout.num_ranks, rank)) CHECK(error == "");
    CHECK(all.size() == whole.parameters.size());
    for (const auto& [name, value] : whole.parameters) {
      const bool is_same = all.contains(name) && at::equal(all.at(name), value);
      CAPTURE(name);
      CHECK(is_same);
    }
  }
}

std::vector<RunLayout> all_layouts() {
  std::vector<RunLayout> layouts = data_layouts();
  for (RunLayout& one : tensor_layouts()) layouts.push_back(std::move(one));
  const std::string types =
      R"("name": "fsdp", "param_dtype": "bfloat16", "reduce_dtype": "float32")";
  layouts.push_back(layout("fsdp 2, gathered in bf16", types, 2, 2));
  layouts.push_back(layout("single", R"("name": "single")", 1, 1));
  return layouts;
}

/// What transformers wrote for the tests of adapters, as its save_pretrained lays it out: a
/// configuration, two shards and their index.
void write_pretrained(const TemporaryFolder& folder, const TensorMap& weights) {
  const SafetensorsFile file = SafetensorsFile::open(kFiles + "peft_lora.safetensors");
  std::ofstream(folder / "config.json") << file.metadata().at("config");
  TensorMap shards[2];
  std::string index;
  for (const auto& [name, tensor] : weights) {
    const size_t shard = name.find("layers.1") != std::string::npos ? 1 : 0;
    shards[shard][name] = tensor;
    index += (index.empty() ? "\"" : ", \"") + name + R"(": "model-)" + std::to_string(shard) +
             ".safetensors\"";
  }
  for (const size_t shard : {0, 1}) {
    write_safetensors(folder / ("model-" + std::to_string(shard) + ".safetensors"), shards[shard]);
  }
  std::ofstream(folder / "model.safetensors.index.json") << R"({"weight_map": {)" << index << "}}";
}

TensorMap stored_weights() {
  return SafetensorsFile::open(kFiles + "peft_lora.safetensors").tensors("weights/");
}

/// That checkpoint with its adapter. Only the adapter trains.
Started pretrained(const TemporaryFolder& folder) {
  Started started;
  started.name = "pretrained, adapter";
  LoraOptions options;
  options.r = 3;
  options.lora_alpha = 12;
  options.target_modules = {"q_proj", "v_proj", "mlp.down_proj"};
  const std::string keys = R"("path": ")" + folder.path().string() + "\"";
  started.make = [options, keys](const Registries& registries) {
    auto model = llama(registries, keys);
    add_lora(*model, options);
    return model;
  };
  started.change = [options](Model& model, InitialValues& values) {
    const NameMap names{{{"lm_head.weight", "lm_head.weight"}, {"**", "model.**"}}, {}};
    values.add(stored_adapter(kFiles + "peft_lora", model, names, options));
    for (const NamedTensor& parameter : model.named_parameters()) {
      parameter.tensor->set_requires_grad(parameter.name.find(".lora_") != std::string::npos);
    }
  };
  return started;
}

}  // namespace

TEST_CASE("ranks begin with the bits of one process, drawn at random") {
  BuiltPlugins plugins;
  load(plugins);
  for (const TrainedModel& trained : families()) {
    Started started{trained.name, trained.make};
    check_bits(plugins.registries(), started, all_layouts());
    // `materialize` is the same, too.
    const auto model = trained.make(plugins.registries());
    const Whole whole = in_one_process(plugins.registries(), started);
    for (const NamedTensor& parameter : model->named_parameters()) {
      CHECK(at::equal(*parameter.tensor, whole.parameters.at(parameter.name)));
    }
  }
}

TEST_CASE("and so in bfloat16, and with an encoder that has buffers") {
  BuiltPlugins plugins;
  load(plugins);
  plugins.registries().get<Model>("duplex_s2s");
  plugins.registries().get<Encoder>("fastconformer");
  static const TableTokenizer kTokenizer;
  static const Config kDataBlock = parse_json(test::kData, "data");
  Started started;
  started.name = "duplex";
  started.settings.dtype = at::kBFloat16;
  started.make = [](const Registries& registries) {
    ModelContext context;
    context.path = "model";
    context.data = &kDataBlock;
    context.tokenizer = &kTokenizer;
    std::string json = std::string("{") + kParts + ", " + kCodes + "}";
    json.replace(json.find("TIED"), 4, "true");
    return registries.create<Model>(parse_json(json, "model"), context);
  };
  started.change = [](Model& model, InitialValues&) {
    for (const NamedTensor& parameter : model.named_parameters()) {
      if (parameter.name.starts_with("perception.")) parameter.tensor->set_requires_grad(false);
    }
  };
  check_bits(plugins.registries(), started, all_layouts());
}

TEST_CASE("ranks begin with the bits of a pretrained checkpoint and of an adapter") {
  BuiltPlugins plugins;
  load(plugins);
  const TemporaryFolder folder;
  const TensorMap weights = stored_weights();
  write_pretrained(folder, weights);
  const Started started = pretrained(folder);
  check_bits(plugins.registries(), started, all_layouts());
  const Whole whole = in_one_process(plugins.registries(), started);
  CHECK(at::equal(whole.parameters.at("layers.1.mlp.up_proj.weight"),
                  weights.at("model.layers.1.mlp.up_proj.weight")));
  const TensorMap adapter = read_weights(kFiles + "peft_lora/adapter_model.safetensors");
  CHECK(at::equal(whole.parameters.at("layers.0.self_attn.q_proj.lora_B.weight"),
                  adapter.at("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight")));
}

TEST_CASE("a checkpoint that does not fit gives each rank the message that one process gives") {
  BuiltPlugins plugins;
  load(plugins);
  const auto run = [&](const Started& started, bool is_split) {
    return run_thread_ranks(is_split ? 4 : 1, [&](Communicator& world) {
      const auto model = started.make(plugins.registries());
      const auto values = described(started, *model);
      const RunLayout one = layout("",
                                   is_split ? R"("name": "model_parallel",
          "tensor_parallel_size": 2)"
                                            : R"("name": "single")",
                                   4, 4);
      attach(*strategy_of(plugins.registries(), one, is_split ? &world : nullptr), *model, *values);
    });
  };
  const auto check = [&](TensorMap weights, const std::vector<std::string>& parts) {
    const TemporaryFolder folder;
    write_pretrained(folder, weights);
    const Started started = pretrained(folder);
    const std::string expected = run(started, false).front();
    for (const std::string& part : parts) CHECK(expected.find(part) != std::string::npos);
    const std::vector<std::string> errors = run(started, true);
    CHECK(errors.size() == 4);
    for (const std::string& error : errors) CHECK(error == expected);
  };
  TensorMap weights = stored_weights();
  weights["model.norms.weight"] = weights.at("model.norm.weight");
  weights.erase("model.norm.weight");
  weights["lm_head.weight"] = at::zeros({3, 24});
  check(weights, {"[weights/mismatch]", "'model.norm.weight' is missing",
                  "'model.norms.weight' is not expected", "'lm_head.weight' has shape [3, 24]"});
  weights = stored_weights();
  const std::string late = "model.layers.1.mlp.down_proj.weight";
  weights[late] = weights.at(late).clone();
  weights[late][20][30] = std::numeric_limits<float>::quiet_NaN();
  check(weights, {"[weights/not-finite]", late, "[20, 30]"});
}
