#include "graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>

namespace s2s::cuda {
namespace {

class Graph : public DeviceGraph {
 public:
  explicit Graph(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}

  bool record(const std::function<void()>& work,
              const std::vector<at::Generator>& generators) override {
    graph_ = std::make_unique<at::cuda::CUDAGraph>();
    const c10::cuda::CUDAStream outside = c10::cuda::getCurrentCUDAStream();
    outside.synchronize();
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    try {
      for (const at::Generator& generator : generators) graph_->register_generator_state(generator);
      // Other threads may go on with the device meanwhile: they pin memory for batches.
      graph_->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      record_between(work);
    } catch (const c10::Error& error) {
      graph_ = nullptr;
      (void)cudaGetLastError();  // a broken recording is no error of what comes next
      if (warn_) {
        warn_(std::string("the GPU cannot repeat this work as a graph, so it is launched piece by "
                          "piece, slower: ") +
              error.what_without_backtrace());
      }
      return false;
    }
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

  std::function<void(const std::string&)> warn_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

}  // namespace

std::unique_ptr<DeviceGraph> make_graph(std::function<void(const std::string&)> warn) {
  return std::make_unique<Graph>(std::move(warn));
}

}  // namespace s2s::cuda
