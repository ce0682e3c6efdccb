#include "weights/torch_file.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "core/weights/torch_zip.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

using s2s::TorchFile;
using namespace s2s::test;

namespace {

const std::string kData = s2s::test::source_dir() + "/tests/reference/data/";

void check_same(const s2s::TensorMap& tensors) {
  const auto expected = s2s::SafetensorsFile::open(kData + "torch_state.safetensors").tensors();
  CHECK(tensors.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    REQUIRE(tensors.count(name) == 1);
    const at::Tensor& read = tensors.at(name);
    CHECK((read.scalar_type() == tensor.scalar_type()));
    CHECK((read.sizes() == tensor.sizes()));
    CHECK(at::equal(read.to(at::kDouble), tensor.to(at::kDouble)));
  }
}

std::string torch_error(const std::string& bytes) {
  const TemporaryFolder folder;
  return error_of([&] { s2s::WeightFiles::open(folder.write("x.bin", bytes)); });
}

}  // namespace

TEST_CASE("a state dict of torch.save holds the tensors that torch saved") {
  check_same(s2s::read_weights(kData + "torch_state.bin"));
  const TorchFile file = TorchFile::open(kData + "torch_state.bin");
  CHECK(file.tensor("transposed").stride(0) == 1);
  CHECK(file.tensor("expanded").stride(1) == 0);
  // What shared a storage shares memory.
  CHECK(file.tensor("whole").data_ptr() == file.tensor("same").data_ptr());
  CHECK(has(error_of([&] { file.tensor("transposd"); }), "did you mean 'transposed'?"));
}

TEST_CASE("the state dict is found in what Lightning saves, and in shards with an index") {
  check_same(s2s::read_weights(kData + "torch_lightning.ckpt"));
  check_same(s2s::read_weights(kData + "torch_shards"));
  check_same(s2s::read_weights(kData + "torch_shards/pytorch_model.bin.index.json"));
}

TEST_CASE("a tensor that is released is read again from the file") {
  const s2s::WeightFiles files = s2s::WeightFiles::open(kData + "torch_state.bin");
  const at::Tensor before = files.tensor("whole").clone();
  files.release("whole");
  CHECK(at::equal(files.tensor("whole"), before));
  CHECK(at::equal(files.read("transposed", {0, 2, 3}), before.t().narrow(0, 2, 3)));
}

TEST_CASE("pickles that would import or execute something are refused by name") {
  const auto refusal = [](const std::string& name) {
    return error_of([&] { TorchFile::open(kData + "torch_hostile_" + name + ".bin"); });
  };
  for (const char* name : {"system", "system_protocol_4"}) {
    CHECK(has(refusal(name), "[weights/refused]"));
    CHECK(has(refusal(name), "'posix.system'"));
  }
  CHECK(has(refusal("eval"), ".eval'"));
  CHECK(has(refusal("getattr"), ".getattr'"));
  CHECK(has(refusal("object"), "'collections.Counter'"));
  CHECK(has(refusal("new_object"), "NEWOBJ, which creates an object"));
  CHECK(has(refusal("instance"), "INST, which creates an object"));
  CHECK(has(refusal("extension"), "EXT, which imports an extension"));
  CHECK(has(refusal("call_of_type"), "a call of 'torch.FloatStorage'"));
}

TEST_CASE("every cut and every changed byte of a file gives an error or tensors, never a crash") {
  const std::string bytes = read_bytes(kData + "torch_state.bin");
  const TemporaryFolder folder;
  for (size_t length = 0; length < bytes.size(); length += 97) {
    CHECK(has(torch_error(bytes.substr(0, length)), "[weights/format]"));
  }
  for (size_t i = 0; i < bytes.size(); i += 5) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    const std::string path = folder.write("x.bin", damaged);
    const std::string error = error_of([&] {
      for (const auto& [name, tensor] : s2s::read_weights(path)) tensor.clone();
    });
    CHECK((error.empty() || has(error, "[weights/")));
  }
}

TEST_CASE("views of a storage have at most 16 times its elements, one by one and together") {
  const auto many = [](int64_t count, const PickledView& view) {
    std::vector<PickledView> views(static_cast<size_t>(count), view);
    for (size_t i = 0; i < views.size(); ++i) views[i].name = "t" + std::to_string(i);
    return views;
  };
  const PickledView whole{"a", {4}, {1}};
  CHECK(torch_error(torch_file_of({whole}, 4)) == "");
  CHECK(torch_error(torch_file_of({{"a", {16}, {0}}}, 1)) == "");
  CHECK(torch_error(torch_file_of(many(16, whole), 4)) == "");
  const std::vector<PickledView> hostile[] = {
      {{"a", {17}, {0}}},
      {{"a", {int64_t{1} << 40}, {0}}},  // x.expand(2**40)
      {{"a", {int64_t{1} << 20, int64_t{1} << 20}, {0, 0}}},
      {{"a", {1'000'000, 1'000'000, 4}, {0, 0, 1}}},  // overlapping
      {{"a", {40, 40}, {0, 1}}},
      many(100, {"a", {int64_t{1} << 31}, {0}}),
      many(17, whole),
  };
  for (const auto& views : hostile) {
    const size_t num_stored = views[0].strides.back() == 0 ? 1 : 4;
    const std::string error = torch_error(torch_file_of(views, num_stored));
    INFO(error);
    CHECK(has(error, "[weights/format]"));
  }
  const std::string error = torch_error(torch_file_of({{"a", {int64_t{1} << 40}, {0}}}, 1));
  CHECK(has(error, "tensor 'a' of shape [1099511627776] is a view of a storage of 1 elements"));
  CHECK(has(error, "save it with .contiguous()"));
  // No element, in as many dims as one likes.
  CHECK(torch_error(torch_file_of({{"a", {int64_t{1} << 40, 0}, {0, 0}}}, 1)) == "");
}

TEST_CASE("storages of one archive share no bytes") {
  const std::string data(400, '\0');
  const std::string pickle = pickled_state_dict({{"a", {100}, {1}, "0"}, {"b", {100}, {1}, "1"}});
  const std::string content = zip_local_header("x/data.pkl", pickle.size()) + pickle +
                              zip_local_header("x/data/0", data.size()) + data;
  const uint64_t second = content.size() - data.size() - zip_local_header("x/data/0", 0).size();
  const std::vector<ZipMember> places = {{"x/data.pkl", 0, pickle.size()},
                                         {"x/data/0", second, data.size()},
                                         {"x/data/1", second, data.size()}};
  CHECK(has(torch_error(content + zip_end(content, places)),
            "entries 'x/data/0' and 'x/data/1' have bytes in common"));
}

TEST_CASE("a pickle that refers to one long name again and again is refused") {
  // 8 MB of text, 100,000 times: a map of names would compare a terabyte.
  std::string pickle = "\x80\x02}" + pickled_text(std::string(8'000'000, 'n')) + "q\x01" + "0" +
                       pickled_view({"", {0}, {1}}) + "q\x02" + "0(";
  for (int i = 0; i < 100'000; ++i) pickle += "h\x01h\x02";
  const std::string error =
      torch_error(stored_zip({{"x/data.pkl", pickle + "u."}, {"x/data/0", std::string(4, '\0')}}));
  CHECK(has(error, "[io/too-much]"));
  CHECK(has(error, "bytes of content to read"));
}

TEST_CASE("files that are not of torch.save say what they are") {
  CHECK(has(torch_error("\x80\x02\x8a\x0a"), "before torch 1.6"));
  CHECK(has(torch_error("{}"), "is not a zip archive"));
  CHECK(has(torch_error(""), "is not a zip archive"));
  CHECK(has(torch_error("\x1f\x8b\x08"), "the archive cannot be read"));
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  CHECK(has(torch_error(tar), "[weights/format]"));
  CHECK(has(torch_error("PK\x03\x04"), "directory is missing or damaged"));
}
