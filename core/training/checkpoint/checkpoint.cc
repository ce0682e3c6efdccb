#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/checkpoint_traces.h"
#include "checkpoint/checkpoint_write.h"
#include "comm/rank_texts.h"
#include "s2s/threads.h"
#include "train/train_errors.h"
#include "train/whole_updates.h"
#include "weights/checkpoint_proof.h"
#include "weights/finite.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

/// After this many consecutive failures of the cleanup that follows a save (such as the removal of
/// older checkpoints), the failure becomes an error.
constexpr int kMaxFailedInARow = 3;
constexpr const char* kCleanup = "checkpoint/cleanup";

int64_t rank_in(const Communicator* world) { return world == nullptr ? 0 : world->rank(); }
int64_t ranks_of(const Communicator* world) { return world == nullptr ? 1 : world->size(); }

/// The device that holds some of `parts`; none when the CPU holds them all.
std::optional<at::DeviceType> device_of(const std::vector<LocalShard>& parts) {
  for (const LocalShard& part : parts) {
    if (!part.tensor.device().is_cpu()) return part.tensor.device().type();
  }
  return std::nullopt;
}

/// Throws the error of the first element that is not finite.
void throw_if_not_finite(const RankFile& file, int64_t steps_done) {
  for (const auto& [name, tensor] : file.tensors) {
    const std::optional<NotFinite> bad = find_not_finite(tensor);
    if (!bad) continue;
    const TensorEntry& entry = file.shards.at(name);
    std::vector<int64_t> place = bad->index;
    if (tensor.sizes() != at::IntArrayRef(entry.sizes)) {  // a flat shard
      place = coordinates(entry.sizes, element_at(to_spans(entry.shards.at(0).runs), place.at(0)));
    }
    throw_weight_not_finite(name, place, bad->value, steps_done);
  }
}

/// Refuses to save non-finite values. Such a checkpoint cannot be resumed, and rotation would
/// replace a usable one with it.
void check_numbers(const std::vector<RankFile>& files, int64_t steps_done) {
  std::vector<at::Tensor> tensors;
  for (const RankFile& file : files) {
    for (const auto& [name, tensor] : file.tensors) tensors.push_back(tensor);
  }
  if (all_finite(tensors)) return;
  for (const RankFile& file : files) throw_if_not_finite(file, steps_done);
}

bool is_alone(const Communicator* world) { return ranks_of(world) == 1; }

bool all_ranks(Communicator* world, bool value) {
  if (is_alone(world)) return value;
  const std::vector<int64_t> all = all_gather_numbers(*world, value ? 1 : 0);
  return std::all_of(all.begin(), all.end(), [](int64_t one) { return one == 1; });
}

std::string to_json(const Error& error) {
  return nlohmann::json{{"code", static_cast<int>(error.exit_code())},
                        {"id", error.id()},
                        {"message", error.message()}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Error from_json(const std::string& text, int64_t rank) {
  const nlohmann::json error = parse_foreign_json(text);
  return {static_cast<ExitCode>(error.at("code").get<int>()), error.at("id").get<std::string>(),
          fmt::format("rank {}: {}", rank, error.at("message").get<std::string>())};
}

/// Returns true for errors that already describe the failed save. They are not wrapped in
/// [checkpoint/write].
bool describes_save(const Error& error) {
  return error.exit_code() == ExitCode::kNumerics || error.id() == kCleanup;
}

/// Runs `action` on every rank. When it throws on any rank, all ranks throw the error of the lowest
/// such rank, with its rank number when there are several ranks. Errors for which `is_kept` is
/// false become [checkpoint/write] of `target`. All ranks must call this in the same order.
template <class Action>
void agree(Communicator* world, const fs::path& target, bool (*is_kept)(const Error&),
           const Action& action) {
  std::optional<Error> trouble;
  try {
    action();
  } catch (const Error& error) {
    trouble = is_kept(error) ? error : checkpoint_write_error(target.string(), error.message());
  } catch (const std::exception& error) {
    trouble = checkpoint_write_error(target.string(), error.what());
  }
  if (is_alone(world)) {
    if (trouble) throw *trouble;
    return;
  }
  const std::string text = trouble ? to_json(*trouble) : "";
  const std::vector<int64_t> sizes = all_gather_numbers(*world, static_cast<int64_t>(text.size()));
  for (int64_t rank = 0; rank < world->size(); ++rank) {
    const int64_t size = sizes[static_cast<size_t>(rank)];
    if (size > 0) throw from_json(broadcast_text(*world, text, rank, size), rank);
  }
}

/// Rank 0 removes the partial files of a failed save.
void drop_partial(const fs::path& target, int64_t rank) {
  std::error_code ignored;
  if (rank == 0) fs::remove_all(partial_name(target), ignored);
}

void write_state(const fs::path& folder, const nlohmann::json& content) {
  write_file_atomically((folder / "state.json").string(), content.dump(1) + "\n");
}

}  // namespace

/// A save, from the copy of its tensors to the rename.
struct CheckpointFolder::Job {
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  fs::path target;
  RunState state;
  std::vector<RankFile> files;
  CheckpointIndex index;  // of the files that this rank has written
  /// The error of the writer. A save counts as failed until its last step clears this.
  std::exception_ptr trouble =
      std::make_exception_ptr(std::runtime_error("its files were never written"));
  std::atomic<bool> done = false;  // the writer has ended, with or without an error
  std::thread thread;
};

CheckpointFolder::CheckpointFolder(std::string folder, std::vector<std::string> attachments,
                                   CheckpointSettings settings)
    : folder_(std::move(folder)),
      attachments_(std::move(attachments)),
      settings_(std::move(settings)),
      staging_(std::make_unique<StagingBuffer>()) {}

CheckpointFolder::~CheckpointFolder() {
  if (job_ == nullptr) return;
  if (job_->thread.joinable()) job_->thread.join();
  // The other ranks may not be able to take part any more.
  if (ranks_of(settings_.world) > 1) return;
  try {
    complete();
  } catch (const std::exception&) {  // the error that ends the run is reported instead
  }
}

std::string CheckpointFolder::save(const std::vector<LocalShard>& parts, const Optimizer& optimizer,
                                   const RunState& state) {
  finish();
  Communicator* const world = settings_.world;
  const int64_t rank = rank_in(world);
  auto job = std::make_unique<Job>();
  job->target = fs::path(folder_) / fmt::format("step={}", state.steps_done);
  job->state = state;
  const auto prepare = [&] {
    const auto is_whole = [&](const std::string& name) { return is_whole_state(optimizer, name); };
    job->files = {model_shards(parts), optimizer_shards(optimizer.state(), parts, rank, is_whole)};
    check_numbers(job->files, state.steps_done);
    job->files.push_back({"random", random_states(device_of(parts)), {}});
    if (settings_.is_async) staging_->stage(job->files);
    if (rank == 0) make_partial(job->target);
  };
  try {
    agree(world, job->target, describes_save, prepare);
  } catch (...) {
    drop_partial(job->target, rank);
    throw;
  }
  begin_writing(*job);
  job_ = std::move(job);  // nothing may throw between the start of the thread and this line
  if (!settings_.is_async) complete();
  return (fs::path(folder_) / fmt::format("step={}", state.steps_done)).string();
}

/// If no thread can be started, the save runs synchronously. The other ranks are not informed. They
/// wait as they would for a slow disk.
void CheckpointFolder::begin_writing(Job& job) const {
  if (settings_.is_async) {
    try {
      job.thread = start_thread([this, &job] { write(job); });
      return;
    } catch (const std::exception& error) {
      warn(std::string(error.what()) +
           "\n  training waits until this checkpoint is written, then continues");
    }
  }
  write(job);
}

void CheckpointFolder::write(Job& job) const {
  try {
    job.index = write_rank_files(partial_name(job.target), job.files, rank_in(settings_.world),
                                 ranks_of(settings_.world));
    job.trouble = nullptr;
  } catch (...) {
    job.trouble = std::current_exception();
  }
  job.files.clear();
  job.done = true;
}

bool CheckpointFolder::poll() {
  if (job_ == nullptr || !all_ranks(settings_.world, job_->done)) return false;
  complete();
  return true;
}

void CheckpointFolder::finish() {
  if (job_ != nullptr) complete();
}

void CheckpointFolder::complete() {
  const std::unique_ptr<Job> job = std::move(job_);
  if (job->thread.joinable()) job->thread.join();
  Communicator* const world = settings_.world;
  const int64_t rank = rank_in(world);
  try {
    agree(world, job->target, describes_save, [&] {
      if (job->trouble) std::rethrow_exception(job->trouble);
      S2S_ASSERT(job->done, "a save that went well has ended");
    });
    std::vector<std::string> written = {format_checkpoint_index(job->index)};
    if (!is_alone(world)) written = gather_texts(*world, written[0]);
    agree(world, job->target, describes_save, [&] {
      if (rank == 0) name(*job, written);
    });
  } catch (...) {
    drop_partial(job->target, rank);
    throw;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - job->begin;
  last_save_s_ = taken.count();
}

/// Rank 0 renames the checkpoint once all ranks have written. `written`: the index of each rank.
void CheckpointFolder::name(Job& job, const std::vector<std::string>& written) {
  for (size_t i = 1; i < written.size(); ++i) {
    merge(job.index, parse_checkpoint_index(fmt::format("rank {}", i), written[i]));
  }
  const fs::path partial = partial_name(job.target);
  for (const std::string& file : attachments_) attach_copy(file, partial);
  write_state(partial, state_json(job.state, settings_.mesh));
  try {
    if (fs::exists(settings_.lines)) {
      sync_to_disk(settings_.lines);
      // And its name: the folder was last synced before the file was created.
      sync_to_disk(fs::path(settings_.lines).parent_path().string());
    }
    // Saving the weights is more important than syncing the lines.
  } catch (const std::exception& error) {
    warn(error.what());
  }
  publish(job.target, std::move(job.index));
  settle_and_rotate(job.target.string(), job.state);
}

/// The checkpoint is already complete, so a failure here does not end the run at once. The next
/// save repeats this cleanup.
void CheckpointFolder::settle_and_rotate(const std::string& target, const RunState& state) {
  try {
    settle(target);
    point_link(target, "last");
    if (!state.link.empty()) point_link(target, state.link);
    if (settings_.rotation) {
      for (const std::string& left :
           rotate_checkpoints(folder_, *settings_.rotation, state.steps_done)) {
        warn("an older checkpoint was not removed completely; the next save tries again: " + left);
      }
    }
    remove_dead_links(folder_);
    failed_in_a_row_ = 0;
  } catch (const Error& error) {
    cleanup_failed(target, error.message());
  } catch (const std::exception& error) {
    cleanup_failed(target, error.what());
  }
}

void CheckpointFolder::cleanup_failed(const std::string& target, const std::string& reason) {
  const Error failed = checkpoint_cleanup_error(target, reason);
  if (++failed_in_a_row_ >= kMaxFailedInARow) throw failed;
  warn(std::string(failed.what()) + "\n  the run continues, and the next save tries again");
}

void CheckpointFolder::warn(const std::string& message) const {
  if (settings_.warn) settings_.warn(message);
}

void write_first_checkpoint(const std::string& folder, Block& model, const Attach& attach) {
  fs::path target = fs::path(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // the path ends in a slash
  const std::vector<RankFile> files = {model_shards(whole_parts(model))};
  check_numbers(files, 0);
  const auto write = [&] {
    make_partial(target);
    const fs::path partial = partial_name(target);
    CheckpointIndex index = write_rank_files(partial, files, 0, 1);
    attach(partial.string());
    nlohmann::json state = state_json({}, {});
    state["weights_only"] = true;
    write_state(partial, state);
    publish(target, std::move(index));
    settle(target);
  };
  try {
    agree(nullptr, target, describes_save, write);
  } catch (...) {
    drop_partial(target, 0);
    throw;
  }
}

std::string CheckpointFolder::newest() const {
  Communicator* const world = settings_.world;
  std::string found;
  agree(
      world, folder_, [](const Error&) { return true; },
      [&] {
        if (rank_in(world) == 0) found = find_newest();
      });
  if (is_alone(world)) return found;
  const std::vector<int64_t> sizes = all_gather_numbers(*world, static_cast<int64_t>(found.size()));
  return broadcast_text(*world, found, 0, sizes[0]);
}

std::string CheckpointFolder::find_newest() const {
  check_pointer(folder_);
  for (const std::string& left : remove_partials(folder_)) {
    warn("the remains of an interrupted save were not removed completely: " + left);
  }
  const std::string found = newest_checkpoint(folder_, settings_.warn);
  std::error_code ignored;
  if (!found.empty() &&
      fs::read_symlink(fs::path(folder_) / "last", ignored) != fs::path(found).filename()) {
    point_link(found, "last");
  }
  return found;
}

std::string newest_checkpoint(const std::string& place,
                              const std::function<void(const std::string&)>& warn) {
  const auto tell = [&](const std::string& message) {
    if (warn) warn(message);
  };
  check_pointer(place);
  const auto all = list_checkpoints(place);
  std::vector<std::pair<fs::path, std::string>> passed_over;  // with the reason
  for (auto saved = all.rbegin(); saved != all.rend(); ++saved) {
    const fs::path& folder = saved->second;
    const std::string fault = checkpoint_fault(folder.string(), ProofDepth::kHeaders);
    if (!fault.empty()) {
      passed_over.emplace_back(folder, fault);
      continue;
    }
    for (const auto& [newer, why] : passed_over) {
      tell(checkpoint_skipped(newer.string(), why, folder.filename().string()));
    }
    if (const std::string lost = lost_pointer(place, folder); !lost.empty()) tell(lost);
    return folder.string();
  }
  if (passed_over.empty()) return "";
  // Starting a new run would overwrite checkpoints that may be repairable.
  throw checkpoint_errors::damaged(passed_over.front().first.string(), passed_over.front().second);
}

}  // namespace s2s
