#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/atomic_file.h"
#include "train/checkpoint_rotation.h"
#include "train/checkpoint_state.h"
#include "train/checkpoint_write.h"
#include "train/rank_agreement.h"
#include "train/train_errors.h"
#include "weights/finite.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

int64_t rank_in(const Communicator* world) { return world == nullptr ? 0 : world->rank(); }
int64_t ranks_of(const Communicator* world) { return world == nullptr ? 1 : world->size(); }

bool uses_cuda(const std::vector<TensorPart>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [](const TensorPart& part) { return part.tensor.is_cuda(); });
}

/// A checkpoint that cannot be continued from would push out one that can.
void check_numbers(const PieceFile& file, int64_t steps_done) {
  for (const auto& [name, tensor] : file.tensors) {
    const std::optional<NotFinite> bad = find_not_finite(tensor);
    if (!bad) continue;
    const PieceTensor& piece = file.pieces.at(name);
    std::vector<int64_t> place = bad->index;
    if (tensor.sizes() != at::IntArrayRef(piece.sizes)) {  // a flat piece
      place = coordinates(piece.sizes, number_at(to_spans(piece.pieces.at(0).runs), place.at(0)));
    }
    throw_weight_not_finite(name, place, bad->value, steps_done);
  }
}

/// What becomes of an error of saving `target`.
std::function<Error(const std::exception&)> describe_for(const fs::path& target) {
  return [target](const std::exception& error) {
    const auto* const known = dynamic_cast<const Error*>(&error);
    if (known == nullptr) return checkpoint_write_error(target.string(), error.what());
    if (known->exit_code() == ExitCode::kNumerics) return *known;
    return checkpoint_write_error(target.string(), known->message());
  };
}

/// Rank 0 removes what a save that failed has written so far.
void drop_partial(const fs::path& target, int64_t rank) {
  std::error_code ignored;
  if (rank == 0) fs::remove_all(partial_name(target), ignored);
}

void write_state(const fs::path& folder, const nlohmann::json& content) {
  write_file_atomically((folder / "state.json").string(), content.dump(1) + "\n");
}

}  // namespace

/// A save, from the copy of its numbers to its name.
struct CheckpointFolder::Job {
  fs::path target;
  RunState state;
  std::vector<PieceFile> files;
  PieceIndex index;                // of what this rank has written
  std::exception_ptr trouble;      // of the writing
  std::atomic<bool> done = false;  // with the writing
  std::thread thread;
};

CheckpointFolder::CheckpointFolder(std::string folder, std::vector<std::string> attachments,
                                   CheckpointSettings settings)
    : folder_(std::move(folder)),
      attachments_(std::move(attachments)),
      settings_(settings),
      staging_(std::make_unique<StagingBuffer>()) {}

CheckpointFolder::~CheckpointFolder() {
  if (job_ == nullptr) return;
  if (job_->thread.joinable()) job_->thread.join();
  if (ranks_of(settings_.world) > 1) return;  // the others may not come to an agreement any more
  try {
    complete();
  } catch (const std::exception&) {  // said by whatever ends the run
  }
}

std::string CheckpointFolder::save(Block& model, const Optimizer& optimizer,
                                   const RunState& state) {
  return save(whole_parts(model), optimizer, state);
}

std::string CheckpointFolder::save(const std::vector<TensorPart>& parts, const Optimizer& optimizer,
                                   const RunState& state) {
  finish();
  Communicator* const world = settings_.world;
  const int64_t rank = rank_in(world);
  auto job = std::make_unique<Job>();
  job->target = fs::path(folder_) / fmt::format("step={}", state.steps_done);
  job->state = state;
  const auto prepare = [&] {
    job->files = {model_pieces(parts), optimizer_pieces(optimizer.state(), parts, rank)};
    for (const PieceFile& file : job->files) check_numbers(file, state.steps_done);
    job->files.push_back({"random", random_states(uses_cuda(parts)), {}});
    if (settings_.is_async) staging_->stage(job->files);
    if (rank == 0) make_partial(job->target);
  };
  try {
    agree(world, prepare, describe_for(job->target));
  } catch (...) {
    drop_partial(job->target, rank);
    throw;
  }
  job_ = std::move(job);
  if (settings_.is_async) {
    job_->thread = std::thread([this, &running = *job_] { write(running); });
  } else {
    write(*job_);
    complete();
  }
  return (fs::path(folder_) / fmt::format("step={}", state.steps_done)).string();
}

void CheckpointFolder::write(Job& job) const {
  try {
    job.index = write_pieces(partial_name(job.target), job.files, rank_in(settings_.world),
                             ranks_of(settings_.world));
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
  const auto describe = describe_for(job->target);
  try {
    agree(
        world,
        [&] {
          if (job->trouble) std::rethrow_exception(job->trouble);
        },
        describe);
    const std::vector<std::string> written = gather_texts(world, format_piece_index(job->index));
    agree(
        world,
        [&] {
          if (rank != 0) return;
          for (size_t i = 1; i < written.size(); ++i) {
            merge(job->index, parse_piece_index(fmt::format("rank {}", i), written[i]));
          }
          const fs::path partial = partial_name(job->target);
          for (const std::string& file : attachments_) attach_copy(file, partial);
          write_state(partial, state_json(job->state, settings_.mesh));
          publish(job->target, std::move(job->index));
          point_last(job->target);
          if (settings_.rotation) rotate_checkpoints(folder_, *settings_.rotation);
        },
        describe);
  } catch (...) {
    drop_partial(job->target, rank);
    throw;
  }
}

void write_first_checkpoint(const std::string& folder, Block& model, const Attach& attach) {
  fs::path target = fs::path(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // a slash at the end
  const std::vector<PieceFile> files = {model_pieces(whole_parts(model))};
  check_numbers(files[0], 0);
  const auto write = [&] {
    make_partial(target);
    const fs::path partial = partial_name(target);
    PieceIndex index = write_pieces(partial, files, 0, 1);
    attach(partial.string());
    nlohmann::json state = state_json({}, {});
    state["weights_only"] = true;
    write_state(partial, state);
    publish(target, std::move(index));
  };
  try {
    agree(nullptr, write, describe_for(target));
  } catch (...) {
    drop_partial(target, 0);
    throw;
  }
}

std::string CheckpointFolder::newest() const {
  Communicator* const world = settings_.world;
  std::string found;
  const auto look = [&] {
    if (rank_in(world) != 0) return;
    remove_partials(folder_);
    const auto complete = list_checkpoints(folder_);
    if (complete.empty()) return;
    const fs::path& newest = complete.back().second;
    found = newest.string();
    std::error_code ignored;
    if (fs::read_symlink(fs::path(folder_) / "last", ignored) != newest.filename()) {
      point_last(newest);
    }
  };
  agree(world, look, describe_for(folder_));
  return share_text(world, found);
}

}  // namespace s2s
