// A repository that was cloned without its large files.

#include <doctest/doctest.h>

#include <functional>

#include "base/reading_budget.h"
#include "common/temporary_folder.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "weights/json_file.h"
#include "weights/safetensors.h"
#include "weights/torch_file.h"

namespace {

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 4976698672\n";

std::string failure(const std::function<void()>& read) {
  try {
    read();
  } catch (const s2s::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a Git LFS pointer in place of weights is called that") {
  const s2s::test::TemporaryFolder dir;
  const std::string file = dir.write("model.safetensors", kPointer);
  const std::string torch = dir.write("pytorch_model.bin", kPointer);
  const std::string json = dir.write("config.json", kPointer);
  const std::vector<std::function<void()>> reads = {[&] { s2s::SafetensorsFile::open(file); },
                                                    [&] {
                                                      s2s::ReadingBudget budget(torch);
                                                      s2s::TorchFile::open(torch, budget);
                                                    },
                                                    [&] { s2s::read_json_file(json); }};
  for (const auto& read : reads) {
    const std::string message = failure(read);
    CAPTURE(message);
    CHECK(message.starts_with("[weights/lfs-pointer] '"));
    CHECK(message.find("in place of the file of 4976698672 bytes; run 'git lfs pull'") !=
          std::string::npos);
  }
}

TEST_CASE("other small files are no pointers") {
  const s2s::test::TemporaryFolder dir;
  CHECK(s2s::lfs_pointer_text(dir.write("a", "version 1")).empty());
  CHECK(s2s::lfs_pointer_text(dir.write("b", "")).empty());
  CHECK(s2s::lfs_pointer_text(dir.write("c", kPointer + std::string(2000, 'x'))).empty());
  CHECK(s2s::lfs_pointer_text((dir.path() / "gone").string()).empty());
}
