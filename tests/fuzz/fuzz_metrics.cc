// Any bytes as a run's metrics.jsonl: a resumed run drops later steps and what it cannot read, and
// what it keeps is kept again; the report draws curves of it or says which line is bad.

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "eval/report/training_curves.h"
#include "fuzz/input_file.h"
#include "s2s/error.h"
#include "train/run_folder.h"

namespace {

std::string kept(const std::string& path) {
  const s2s::MetricsLog log(path, 100);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile input("metrics.jsonl");
  const std::string path = input.write(data, size);
  try {
    for (const s2s::Curve& curve : s2s::read_curves(path)) {
      if (curve.steps.size() != curve.values.size()) __builtin_trap();
    }
  } catch (const s2s::Error&) {  // what a user would read
  }
  try {
    const std::string once = kept(path);
    if (kept(path) != once) __builtin_trap();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
