#include <memory>
#include <span>

#include "amplification/reader.h"
#include "core/weights/tar_file.h"
#include "core/weights/torch_zip.h"
#include "plugin/elf_note.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/weights.h"
#include "weights/checkpoint_index.h"
#include "weights/safetensors_header.h"

namespace s2s::test {
namespace {

std::vector<Shape> with(std::vector<Shape> shapes, Shape more) {
  shapes.push_back(std::move(more));
  return shapes;
}

// index.json of a checkpoint.

std::string index_of_shards(size_t bytes) {
  CheckpointIndex index;
  index.files["m"] = {size_t{1} << 20, {1}};
  IndexGroup& group = index.groups["model"];
  // A tensor of 1,000 ranks, of 12 bytes a shard.
  for (size_t i = 0; i < bytes / 12'000; ++i) {
    TensorEntry tensor{at::kByte, {8000}, {}};
    for (int64_t rank = 0; rank < 1000; ++rank) {
      tensor.shards.push_back({"m", {{8 * rank, 8, 0, 1}}});
    }
    group["layers." + std::to_string(i) + ".weight"] = tensor;
  }
  return format_checkpoint_index(index);
}

std::string header_of_tensors(size_t bytes) {
  return "{" +
         listed(
             [](size_t i) {
               return "\"t" + std::to_string(i) +
                      R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
             },
             bytes) +
         "}";
}

// Files of torch.save.

std::string torch_of(const std::string& pickle) {
  return stored_zip({{"x/data.pkl", "\x80\x02" + pickle}, {"x/data/0", std::string(64, '\0')}});
}

std::vector<Shape> torch_shapes() {
  const auto fill = [](const char* name, const std::string& before, const std::string& unit) {
    return Shape{name, [=](size_t bytes) { return torch_of(before + filled(unit, bytes) + "."); }};
  };
  return {{"tensors",
           [](size_t bytes) {
             std::vector<PickledView> views;
             for (size_t i = 0; i < bytes / 220; ++i) {
               views.push_back({"layers." + std::to_string(i), {0, 16}, {16, 1}});
             }
             return torch_file_of(views, 16);
           }},
          fill("Nones", "", "N"),
          fill("empty lists", "", "]"),
          fill("empty texts", "", std::string("U\0", 2)),
          fill("marks", "", "("),
          fill("numbers", "", "K\x01"),
          fill("memo", "Nq\x01", "h\x01"),
          {"memo entries",
           [](size_t bytes) {
             return torch_of("N" + listed([](size_t i) { return "r" + little(i, 4); }, bytes, "") +
                             ".");
           }},
          {"zip entries",
           [](size_t bytes) {
             std::vector<std::pair<std::string, std::string>> files = {{"x/data.pkl", ""}};
             for (size_t i = 0; i < bytes / 100; ++i) files.push_back({std::to_string(i), ""});
             return stored_zip(files);
           }},
          {"names for one tensor", [](size_t bytes) {
             return torch_of(
                 "}" + pickled_view({"", {0}, {1}}) + "q\x01" + "0(" +
                 listed([](size_t i) { return "U\x04" + little(i, 4) + "h\x01"; }, bytes, "") +
                 "u.");
           }}};
}

std::vector<Shape> nemo_shapes() {
  return {{"empty members",
           [](size_t bytes) {
             return gzip(listed(
                 [](size_t i) { return tar_header(std::to_string(i * 7919 % 1'000'003), 0); },
                 8 * bytes, ""));
           }},
          {"zeros that are skipped",
           [](size_t bytes) {
             return gzip(tar_header("a", size_t{4} << 30) + std::string(bytes, '\0'));
           }},
          {"zeros that are unpacked", [](size_t bytes) {
             const size_t size = bytes * 8;
             return gzip(tar_header("model_weights.ckpt", size) + std::string(size, '\0'));
           }}};
}

std::string distributed_metadata(size_t bytes) {
  const auto dict = [](const std::vector<std::pair<std::string, std::string>>& items) {
    std::string text = "}(";
    for (const auto& [key, value] : items) text += pickled_text(key) + value;
    return text + "u";
  };
  std::string chunks = "](", places = "}(";
  const auto num_pieces = static_cast<int64_t>(bytes / 230);
  for (int64_t i = 0; i < num_pieces; ++i) {
    const std::string offsets = pickled_sizes({i});
    chunks += dict({{"offsets", offsets}, {"sizes", pickled_sizes({1})}});
    places += dict({{"fqn", pickled_text("w")}, {"offset", offsets}}) +
              dict({{"relative_path", pickled_text("f")},
                    {"offset", pickled_number(4 * i)},
                    {"length", pickled_number(4)}});
  }
  const std::string tensor = dict({{"properties", dict({{"dtype", "ctorch\nfloat32\n"}})},
                                   {"size", pickled_sizes({num_pieces})},
                                   {"chunks", chunks + "e"}});
  return "\x80\x02" +
         dict({{"state_dict_metadata", dict({{"w", tensor}})}, {"storage_data", places + "u"}}) +
         ".";
}

// Tokenizers.

std::string vocabulary(size_t bytes) {
  return R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,)"
         R"("post_processor":null,"decoder":null,"model":{"type":"BPE","vocab":{)" +
         listed([](size_t i) { return "\"" + std::to_string(i) + "\":" + std::to_string(i); },
                bytes) +
         R"(},"merges":[]}})";
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name, const std::string& path) {
  static BuiltPlugins plugins;
  Config config = Config::map();
  config["name"] = Config::scalar(name);
  config["path"] = Config::scalar(path, true);
  BuildContext context;
  context.path = "model.tokenizer";
  return plugins.create<Tokenizer>(config, context);
}

void read_tokenizer_config(const std::string& path, const std::string&) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::ofstream(folder + "tokenizer.json") << vocabulary(1000);
  open_tokenizer("hf", folder)->special_ids();
}

}  // namespace

std::vector<Reader> model_readers() {
  const auto open_weights = [](const std::string& path, const std::string&) {
    WeightFiles::open(path);
  };
  const std::string piece("\x0a\x09\x0a\x02hi\x15\0\0\0\0", 11);
  return {
      {"index.json",
       with(json_shapes(R"({"tensors":@})"), {"shards", index_of_shards}),
       [](const std::string&, const std::string& bytes) { parse_checkpoint_index("i", bytes); },
       "index.json",
       {36, "an honest index takes 20: a shard has six values in 20 bytes"}},
      {"safetensors header",
       with(json_shapes(R"({"__metadata__":@})"), {"tensors", header_of_tensors}),
       [](const std::string&, const std::string& bytes) {
         parse_safetensors_header("input", bytes, 0);
       }},
      {".ckpt",
       torch_shapes(),
       open_weights,
       "input.ckpt",
       {34, "an honest tensor has 17 values in 110 bytes; the elements come on top of the pickle"}},
      {".nemo", nemo_shapes(), open_weights, "input.nemo"},
      {".metadata", {{"pieces", distributed_metadata}}, open_weights, ".metadata"},
      {"tokenizer.json",
       with(json_shapes(R"({"version":"1.0","model":@})"), {"vocabulary", vocabulary}),
       [](const std::string& path, const std::string&) { open_tokenizer("hf", path); },
       "tokenizer.json"},
      {"tokenizer_config.json", json_shapes(R"({"added_tokens_decoder":@})"), read_tokenizer_config,
       "tokenizer_config.json"},
      {"SentencePiece model",
       {{"pieces", [piece](size_t bytes) { return filled(piece, bytes); }},
        {"groups", [](size_t bytes) { return filled("\x0b", bytes); }},
        {"unknown fields", [](size_t bytes) { return filled(std::string("\x7a\0", 2), bytes); }}},
       [](const std::string& path, const std::string&) { open_tokenizer("sentencepiece", path); },
       "tokenizer.model"},
      {"plugin note",
       {{"zeros",
         [](size_t bytes) {
           return "\x7f"
                  "ELF\x02\x01\x01" +
                  std::string(bytes, '\0');
         }},
        {"ones",
         [](size_t bytes) {
           return "\x7f"
                  "ELF\x02\x01\x01" +
                  std::string(bytes, '\1');
         }}},
       [](const std::string&, const std::string& bytes) {
         parse_plugin_note(std::as_bytes(std::span(bytes)), "input");
       }},
  };
}

}  // namespace s2s::test
