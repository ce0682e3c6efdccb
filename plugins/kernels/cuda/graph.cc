#include "graph.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#include <map>
#include <mutex>

namespace s2s::cuda {
namespace {

/// LibTorch's graph, which can also be given up. When the capture fails, LibTorch 2.11 throws
/// before it gives back what capture_begin took: generators go on counting for a capture, and both
/// allocators ask a filter that holds a pointer to the graph.
class Recording : public at::cuda::CUDAGraph {
 public:
  /// Ends what is still open. Call it on the stream of the capture, before the destructor.
  void give_up() {
    end_capture();
    for (auto& [state, increment] : captured_generator_states_) {
      state->capturing_ = false;
      state->offset_intragraph_ = 0;
    }
    if (capture_ended_) return;  // the destructor releases the pools
    at::HostAllocator* const pinned = at::getHostAllocator(at::kCUDA);
    ignore_refusal(
        [&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(capture_dev_, mempool_id_); });
    ignore_refusal(
        [&] { c10::cuda::CUDACachingAllocator::releasePool(capture_dev_, mempool_id_); });
    ignore_refusal([&] { pinned->end_allocate_to_pool(mempool_id_); });
    ignore_refusal([&] { pinned->release_pool(mempool_id_); });
  }

 private:
  /// Allocators refuse a pool that was not begun, or was ended already.
  template <class Step>
  static void ignore_refusal(const Step& step) {
    try {
      step();
    } catch (const std::exception&) {
    }
  }

  void end_capture() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone) {
      (void)cudaStreamEndCapture(stream, &graph_);
    }
    // LibTorch destroys a graph only if the capture ended well.
    if (!capture_ended_ && graph_ != nullptr) (void)cudaGraphDestroy(graph_);
    (void)cudaGetLastError();  // a broken recording is no error of what comes next
  }
};

/// The stream on which a device records, and who may record now. One for the process, as
/// torch.cuda.graph has it: LibTorch keeps memory for each stream that it has used.
struct RecordingStreams {
  std::mutex mutex;
  std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams;

  c10::cuda::CUDAStream stream() {
    const c10::DeviceIndex device = c10::cuda::current_device();
    const auto found = streams.find(device);
    if (found != streams.end()) return found->second;
    return streams.emplace(device, c10::cuda::getStreamFromPool()).first->second;
  }
};

RecordingStreams& recording_streams() {
  static RecordingStreams streams;
  return streams;
}

class Graph : public DeviceGraph {
 public:
  explicit Graph(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

  bool record(const std::function<void()>& work,
              const std::vector<at::Generator>& generators) override {
    RecordingStreams& streams = recording_streams();
    const std::lock_guard lock(streams.mutex);
    c10::cuda::getCurrentCUDAStream().synchronize();
    const c10::cuda::CUDAStreamGuard guard(streams.stream());
    graph_ = std::make_unique<Recording>();
    try {
      for (const at::Generator& generator : generators) graph_->register_generator_state(generator);
      // Other threads may go on with the device meanwhile: they pin memory for batches.
      graph_->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      record_between(work);
    } catch (const c10::Error& error) {
      give_up();
      if (warn_) {
        warn_(std::string("the GPU cannot repeat this work as a graph, so it is launched piece by "
                          "piece, slower: ") +
              error.what_without_backtrace());
      }
      return false;
    } catch (...) {
      give_up();
      throw;
    }
    // Products have allocated a workspace of 32 MiB in the graph's memory, which stays the graph's.
    // cuBLAS would go on to use it for this stream.
    at::cuda::clearCublasWorkspaces();
    return true;
  }

  void replay() override { graph_->replay(); }

 private:
  void record_between(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::exception_ptr cause = std::current_exception();
      try {
        graph_->capture_end();
      } catch (const c10::Error&) {  // it ends the recording even so; the cause says why
      }
      std::rethrow_exception(cause);
    }
    graph_->capture_end();
  }

  void give_up() {
    graph_->give_up();
    graph_ = nullptr;
    at::cuda::clearCublasWorkspaces();
  }

  std::function<void(const std::string&)> warn_;
  std::unique_ptr<Recording> graph_;
};

}  // namespace

std::unique_ptr<DeviceGraph> make_graph(std::function<void(const std::string&)> warn) {
  return std::make_unique<Graph>(std::move(warn));
}

}  // namespace s2s::cuda
