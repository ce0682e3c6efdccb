// Loads the audio of every cut of a manifest, for comparisons with lhotse.
//
//   cut_audio_dump CUTS.jsonl RATE OUT
//
// OUT.f32 has the samples [C, S] one after the other, OUT.json a list of [name, C, S]: load/ID is
// the cut at its own rate, rate/ID at RATE, custom/ID/target_audio its custom recording if it has
// one. A failure is an entry [name, message].

#include <ATen/ATen.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "cuts/cut_audio.h"
#include "cuts/cut_files.h"
#include "s2s/error.h"

namespace {

class Dump {
 public:
  explicit Dump(const std::string& out) : out_(out), samples_(out + ".f32", std::ios::binary) {}
  ~Dump() { std::ofstream(out_ + ".json") << index_; }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;

  void add(const std::string& name, const std::function<at::Tensor()>& load) {
    try {
      const at::Tensor audio_CS = load().contiguous();
      samples_.write(static_cast<const char*>(audio_CS.const_data_ptr()),
                     static_cast<std::streamsize>(audio_CS.nbytes()));
      index_.push_back({name, audio_CS.size(0), audio_CS.size(1)});
    } catch (const s2s::Error& error) {
      index_.push_back({name, error.what()});
    }
  }

 private:
  std::string out_;
  std::ofstream samples_;
  nlohmann::json index_ = nlohmann::json::array();
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: cut_audio_dump CUTS.jsonl RATE OUT\n");
    return 2;
  }
  try {
    s2s::data::CutAudio audio;
    const int64_t rate = std::atoll(argv[2]);
    Dump dump(argv[3]);
    for (const s2s::Cut& cut : s2s::read_cuts({argv[1]}).cuts) {
      dump.add("load/" + cut.id, [&] { return audio.load(cut); });
      dump.add("rate/" + cut.id, [&] { return audio.load(cut, rate); });
      if (cut.find_recording("target_audio") != nullptr) {
        dump.add("custom/" + cut.id + "/target_audio",
                 [&] { return audio.load_custom(cut, "target_audio"); });
      }
    }
    return 0;
  } catch (const s2s::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
