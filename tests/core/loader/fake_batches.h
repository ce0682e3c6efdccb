#pragma once
// Batches of cuts that are made up, and their audio.

#include <ATen/Functions.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "loader/cut_batches.h"
#include "s2s/data/audio_loader.h"
#include "s2s/data/frames.h"
#include "s2s/error.h"

namespace s2s::test {

using data::BatchedCut;
using data::BatchOfCuts;
using data::BatchRow;
using data::CutBatches;

struct FakeSet {
  int64_t batches = 5;  // of an epoch
  int64_t rows = 3;     // of a batch
  int64_t parts = 1;    // cuts of a row
  bool repeat = true;
  uint64_t seed = 0;           // shifts the names of cuts
  int64_t fails_at = -1;       // number of the batch whose planning fails
  int64_t cuts_to_visit = -1;  // -1: those of an epoch
};

/// Cut "s0e1b2r0p0" is that of seed 0, epoch 1, batch 2, row 0, part 0. Thread-safe counters.
class FakeBatches : public CutBatches {
 public:
  explicit FakeBatches(const FakeSet& set) : set_(set) {}

  std::optional<BatchOfCuts> next() override {
    if (given_ == set_.fails_at) throw Error(ExitCode::kData, "test/planning", "line 7 is torn");
    if (given_ == set_.batches && !set_.repeat) return std::nullopt;
    const int64_t batch = given_++ % set_.batches;
    BatchOfCuts out;
    out.epoch = (given_ - 1) / set_.batches;
    for (int64_t row = 0; row < set_.rows; ++row) {
      BatchRow& made = out.rows.emplace_back();
      made.num_frames = set_.parts > 1 ? 10 * set_.parts : 0;
      for (int64_t part = 0; part < set_.parts; ++part) {
        made.cuts.push_back({{out.epoch, batch, row, part}, nullptr, 10 * part});
      }
    }
    ++num_planned;
    return out;
  }
  std::string state() const override {
    ++num_states;
    return "at " + std::to_string(given_);
  }
  void restore(const std::string& state) override {
    given_ = state.empty() ? 0 : std::stoll(state.substr(3));
  }
  void begin_epoch(int64_t epoch) override { given_ = epoch * set_.batches; }
  int64_t epoch() const override { return given_ / set_.batches; }
  uint64_t fingerprint() const override {
    return 1000 * set_.seed + static_cast<uint64_t>(set_.batches);
  }
  std::shared_ptr<const Cut> make(const std::vector<int64_t>& key) const override {
    Cut cut;
    cut.id = "s" + std::to_string(set_.seed) + "e" + std::to_string(key[0]) + "b" +
             std::to_string(key[1]) + "r" + std::to_string(key[2]) + "p" + std::to_string(key[3]);
    cut.duration_s = set_.parts > 1 ? 0.8 : 0.4 + 0.1 * static_cast<double>(key[2]);
    cut.manifest = "made-up.jsonl";
    cut.line = 1 + key[1];
    Recording recording;
    recording.id = "user";
    recording.sample_rate_hz = 16000;
    recording.duration_s = cut.duration_s;
    cut.recording = recording;
    cut.set_custom("target_audio", recording);
    Supervision turn;
    turn.id = cut.id + "-0";
    turn.speaker = "agent";
    turn.duration_s = 0.3;
    turn.text = "hello";
    cut.supervisions.push_back(turn);
    return std::make_shared<const Cut>(std::move(cut));
  }
  void visit_cuts(const std::function<bool(const Cut&)>& visit) const override {
    const int64_t per_batch = set_.rows * set_.parts;
    const int64_t all = set_.cuts_to_visit < 0 ? set_.batches * per_batch : set_.cuts_to_visit;
    for (int64_t i = 0; i < all; ++i) {
      ++num_visited;
      const int64_t in_batch = i % per_batch;
      if (!visit(*make({0, i / per_batch, in_batch / set_.parts, in_batch % set_.parts}))) return;
    }
  }

  std::atomic<int64_t> num_planned{0};
  mutable std::atomic<int64_t> num_states{0};
  mutable std::atomic<int64_t> num_visited{0};

 private:
  FakeSet set_;
  int64_t given_ = 0;
};

/// Audio that a cut's id determines; some of it late, some of it bad.
class FakeAudio : public AudioLoader {
 public:
  at::Tensor source(const Cut& cut, int64_t sample_rate_hz) override {
    if (bad.count(cut.id) > 0) {
      throw Error(ExitCode::kData, "test/bad-audio", cut.place() + ": cannot be read");
    }
    if (defects.count(cut.id) > 0) throw std::runtime_error("a defect");
    if (cut.id == no_memory) throw std::bad_alloc();
    if (cut.id == strange) throw 42;  // NOLINT: what a plugin may throw
    if (cut.id == waits_for_others) wait();
    if (jitter) std::this_thread::sleep_for(std::chrono::milliseconds(cut.id.back() % 3));
    {
      const std::lock_guard lock(mutex_);
      ++num_loaded_;
    }
    changed_.notify_all();
    const double value = static_cast<double>(std::hash<std::string>()(cut.id) % 1000);
    return at::full({compute_num_samples(cut.duration_s, sample_rate_hz)}, value, at::kFloat);
  }
  at::Tensor target(const Cut& cut, int64_t sample_rate_hz) override {
    return at::ones({compute_num_samples(cut.duration_s, sample_rate_hz)}, at::kFloat);
  }

  std::set<std::string> bad, defects;
  std::string no_memory, strange;
  bool jitter = false;
  std::string waits_for_others;  // this cut is ready when so many others are
  int64_t others = 0;
  bool waited_in_vain = false;

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    waited_in_vain =
        !changed_.wait_for(lock, std::chrono::seconds(60), [&] { return num_loaded_ >= others; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t num_loaded_ = 0;
};

}  // namespace s2s::test
