// What tests/reference/lhotse_cuts_check.py asks of us.
//
//   lhotse_cuts_ours cases IN OUT       a case a line -> its result a line
//   lhotse_cuts_ours rewrite IN OUT     a manifest of cuts, read and written
//   lhotse_cuts_ours rounding IN OUT    rows of four doubles -> rows of four int64
//   lhotse_cuts_ours speed IN           cuts read a second, of lines in memory

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "core/cuts/cut_cases.h"
#include "cuts/cut_numbers.h"
#include "files/line_reader.h"
#include "s2s/data/frames.h"

namespace {

using s2s::test::CaseJson;

void run_cases(const char* in, const char* out) {
  std::ifstream cases(in);
  std::ofstream results(out);
  for (std::string line; std::getline(cases, line);) {
    results << s2s::test::run_case(CaseJson::parse(line)).dump() << '\n';
  }
}

void rewrite(const char* in, const char* out) {
  s2s::data::LineReader reader(in);
  std::ofstream lines(out);
  for (std::string line; reader.next(line);) {
    lines << s2s::to_json(s2s::parse_cut(line, in, reader.line())) << '\n';
  }
}

/// A row: seconds, rate, frame length, factor.
void round_all(const char* in, const char* out) {
  std::ifstream inputs(in, std::ios::binary);
  std::ofstream outputs(out, std::ios::binary);
  for (double row[4]; inputs.read(reinterpret_cast<char*>(row), sizeof row);) {
    const auto rate = static_cast<int64_t>(row[1]);
    const int64_t samples = s2s::compute_num_samples(row[0], rate);
    const int64_t results[4] = {samples, s2s::compute_num_frames(row[0], row[2], rate),
                                s2s::compute_num_frames_from_samples(samples, row[2], rate),
                                s2s::data::perturb_num_samples(samples, row[3])};
    outputs.write(reinterpret_cast<const char*>(results), sizeof results);
  }
}

void measure(const char* in) {
  s2s::data::LineReader reader(in);
  std::vector<std::string> lines;
  size_t bytes = 0;
  for (std::string line; reader.next(line);) {
    bytes += line.size();
    lines.push_back(line);
  }
  const auto begin = std::chrono::steady_clock::now();
  double seconds_of_audio = 0;
  for (const std::string& line : lines) seconds_of_audio += s2s::parse_cut(line, in, 1).duration_s;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::printf("%zu cuts of %zu bytes each (%.0f s), %.0f cuts/s, %.0f MB/s\n", lines.size(),
              bytes / lines.size(), seconds_of_audio,
              static_cast<double>(lines.size()) / taken.count(),
              static_cast<double>(bytes) / taken.count() / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  try {
    if (mode == "cases" && argc == 4) return run_cases(argv[2], argv[3]), 0;
    if (mode == "rewrite" && argc == 4) return rewrite(argv[2], argv[3]), 0;
    if (mode == "rounding" && argc == 4) return round_all(argv[2], argv[3]), 0;
    if (mode == "speed") return measure(argv[2]), 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: %s cases|rewrite|rounding IN OUT | speed IN\n", argv[0]);
  return 2;
}
