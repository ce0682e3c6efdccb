#include "weights/safetensors.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>

#include "common/temporary_folder.h"
#include "core/weights/test_files.h"

using s2s::SafetensorsFile;
using namespace s2s::test;

namespace {

/// A file with this header, not padded, and so many zero bytes of data.
std::string file_bytes(const std::string& header, size_t data_bytes) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((header.size() >> (8 * i)) & 0xFFU);
  return bytes + header + std::string(data_bytes, '\0');
}

std::string open_error(const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.safetensors", bytes);
  return error_of([&] { SafetensorsFile::open(folder / "x.safetensors"); });
}

std::string header_error(const std::string& header, size_t data_bytes) {
  return open_error(file_bytes(header, data_bytes));
}

}  // namespace

TEST_CASE("every element type survives a file, and empty and rank-0 tensors too") {
  const TemporaryFolder folder;
  const std::string path = folder / "all.safetensors";
  s2s::TensorMap tensors;
  for (const auto type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
                          at::kShort, at::kChar, at::kByte, at::kBool, at::ScalarType::UInt16,
                          at::ScalarType::Float8_e4m3fn, at::ScalarType::Float8_e5m2}) {
    tensors[std::string("t.") + c10::toString(type)] = at::arange(7).fmod(2).to(type);
  }
  tensors["scalar"] = at::scalar_tensor(2.5);
  tensors["empty"] = at::empty({3, 0});
  tensors["strided"] = at::arange(6).view({2, 3}).t();
  s2s::write_safetensors(path, tensors, {{"format", "pt"}, {"odd \"key\"", "1\n2"}});
  const SafetensorsFile file = SafetensorsFile::open(path);
  CHECK(file.metadata().at("odd \"key\"") == "1\n2");
  CHECK(file.entries().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor read = file.tensor(name);
    CHECK((read.scalar_type() == tensor.scalar_type()));
    CHECK((read.sizes() == tensor.sizes()));
    CHECK(at::equal(read.to(at::kFloat), tensor.to(at::kFloat)));
  }
  CHECK(file.tensors("t.").count("Float") == 1);
}

TEST_CASE("a tensor outlives its file object and writing to it leaves the file alone") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  s2s::write_safetensors(path, {{"a", at::ones({4})}});
  const std::string before = read_bytes(path);
  at::Tensor tensor = SafetensorsFile::open(path).tensor("a");
  tensor.fill_(3);
  CHECK(tensor.sum().item<float>() == 12);
  CHECK(read_bytes(path) == before);
  s2s::write_safetensors(path, {{"a", at::ones({4})}});
  CHECK(read_bytes(path) == before);  // same input, same bytes
}

TEST_CASE("unaligned data is read") {
  const std::string header = R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  const TemporaryFolder folder;
  std::string bytes = file_bytes(header, 9);
  const float values[2] = {1.5F, -2};
  std::memcpy(bytes.data() + bytes.size() - 8, values, 8);
  write_bytes(folder / "x", bytes);
  const at::Tensor b = SafetensorsFile::open(folder / "x").tensor("b");
  CHECK(at::equal(b, at::tensor({1.5F, -2.0F})));
}

TEST_CASE("a damaged file is refused with its fault") {
  CHECK(has(open_error(""), "[weights/format]"));
  CHECK(has(open_error("abc"), "3 bytes, expected at least 8"));
  CHECK(has(open_error(std::string(8, '\x7f')), "the header would be"));
  CHECK(has(open_error(file_bytes("{}", 0).substr(0, 9)), "the header would be 2 bytes"));
  CHECK(has(header_error(" {}", 0), "does not begin with '{'"));
  CHECK(has(header_error("{\"a\":", 0), "not JSON"));
  CHECK(has(header_error("{}", 4), "describes 0 bytes of data, the file has 4"));
  CHECK(has(header_error(R"({"__metadata__":{"a":1}})", 0), "expected a string"));
  const std::string entry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK(has(header_error("{\"a\":" + entry + ",\"a\":" + entry + "}", 4), "the key 'a' twice"));
  CHECK(has(header_error("{\"a\":" + entry + ",\"b\":" + entry + "}", 4), "tensor 'b': begins at"));
}

TEST_CASE("a tensor entry that breaks a rule is refused by name") {
  const auto entry_error = [](const std::string& entry, size_t data_bytes) {
    return header_error("{\"w\":" + entry + "}", data_bytes);
  };
  CHECK(has(entry_error("3", 0), "tensor 'w': expected an object"));
  CHECK(has(entry_error(R"({"dtype":"F32","shape":[1]})", 4), "no 'data_offsets'"));
  CHECK(
      has(entry_error(R"({"dtype":"F4","shape":[1],"data_offsets":[0,4]})", 4), "[weights/dtype]"));
  CHECK(has(entry_error(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4),
            "list of counts"));
  CHECK(has(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4), "[begin, end]"));
  CHECK(has(entry_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
            "needs 8 bytes, data_offsets give 4"));
  CHECK(
      has(entry_error(R"({"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,4]})", 4),
          "too many"));
  CHECK(has(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[2,6]})", 6),
            "begins at byte 2"));
  CHECK(has(entry_error(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})", 4),
            "unknown key 'x'"));
}

TEST_CASE("headers that nest, or whose sizes overflow, are refused") {
  const std::string deep = std::string(100000, '[');
  CHECK(has(header_error("{\"a\":" + deep, 0), "nests deeper"));
  CHECK(has(header_error("{\"a\":{\"dtype\":\"F32\",\"shape\":" + deep, 0), "nests deeper"));
  CHECK(has(header_error(R"({"__metadata__":{"a":{"b":1}}})", 0), "expected a string"));
  CHECK(has(header_error(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0), "the key 'dtype' twice"));
  const std::string huge =
      R"({"dtype":"U8","shape":[0,4611686018427387904,4],"data_offsets":[0,0]})";
  CHECK(has(header_error("{\"a\":" + huge + "}", 0), "too many"));
  CHECK(has(header_error("{\"\xff\":1}", 0), "not JSON"));
}

TEST_CASE("a tensor that is released is read again from the file") {
  const TemporaryFolder folder;
  s2s::write_safetensors(folder / "a", {{"a", at::ones({9000})}, {"b", at::zeros({5})}});
  const SafetensorsFile file = SafetensorsFile::open(folder / "a");
  const at::Tensor a = file.tensor("a");
  CHECK(a.sum().item<float>() == 9000);
  file.release("a");
  file.release("none");
  CHECK(a.sum().item<float>() == 9000);
}

TEST_CASE("files that are not there or are folders, and tensors that are not in a file") {
  const TemporaryFolder folder;
  CHECK(has(error_of([&] { SafetensorsFile::open(folder / "none"); }), "[weights/unreadable]"));
  CHECK(has(error_of([&] { SafetensorsFile::open(folder.path()); }), "not a regular file"));
  s2s::write_safetensors(folder / "a", {{"norm.weight", at::ones({1})}});
  const SafetensorsFile file = SafetensorsFile::open(folder / "a");
  const std::string error = error_of([&] { file.tensor("norm.wieght"); });
  CHECK(has(error, "[weights/no-tensor]"));
  CHECK(has(error, "did you mean 'norm.weight'?"));
}

TEST_CASE("a write that fails leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  s2s::write_safetensors(path, {{"a", at::ones({4})}});
  const std::string before = read_bytes(path);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit small{4096, old_limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] {
    s2s::write_safetensors(path, {{"a", at::ones({100000})}});
  });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(has(error, "[io/write]"));
  CHECK(read_bytes(path) == before);
  const auto count = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  CHECK(count == 1);
  CHECK(has(error_of([&] { s2s::write_safetensors(folder / "no/dir", {}); }), "[io/write]"));
}
