// Data parallelism: every rank has the whole model and its own part of the data; gradients are
// added up. Losses are normalised by the count of the whole step, so a sum is what is needed.

#include <ATen/ATen.h>

#include <charconv>

#include "gradient_buckets.h"
#include "s2s/gradients.h"
#include "s2s/mesh.h"
#include "s2s/plugin.h"

namespace s2s::ddp {
namespace {

int64_t bytes_of(double mebibytes) { return static_cast<int64_t>(mebibytes * (1 << 20)); }

struct DdpOptions {
  std::string data_parallel_size = "auto";
  double bucket_cap_mb = 25;
  double first_bucket_mb = 1;
  void visit(OptionVisitor& v) {
    v("data_parallel_size", data_parallel_size, "ranks; auto: as many as were started");
    v("bucket_cap_mb", bucket_cap_mb,
      "gradients that are reduced as one tensor, MiB; 0: each parameter alone", at_least(0));
    v("first_bucket_mb", first_bucket_mb, "the same, of those that come first", at_least(0));
  }
};

Error size_error(const std::string& path, const std::string& value) {
  return {ExitCode::kConfig, "config/type",
          path + ".data_parallel_size: '" + value + "'; expected auto or a number of ranks"};
}

int64_t parse_size(const std::string& text, int64_t num_ranks, const std::string& path) {
  if (text == "auto") return num_ranks;
  int64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, size);
  if (code != std::errc() || stop != end || size < 1) throw size_error(path, text);
  return size;
}

class Ddp : public ParallelStrategy {
 public:
  /// `world`: null for one process.
  Ddp(const DdpOptions& options, Communicator* world, const std::string& path)
      : options_(options),
        alone_(world == nullptr ? make_solo_communicator({}) : nullptr),
        world_(world == nullptr ? *alone_ : *world) {
    mesh_.replicate = parse_size(options.data_parallel_size, world_.size(), path);
    require_world_size(mesh_, world_.size());
  }

  MeshShape mesh() const override { return mesh_; }
  int64_t data_rank() const override { return world_.rank(); }

  void attach(Block& model, const ShardPlan&) override {
    const std::vector<NamedTensor> parameters = model.named_parameters();
    std::vector<Collective> copies;
    for (const auto& tensors : {parameters, model.named_buffers()}) {
      for (const NamedTensor& named : tensors) {
        if (!named.tensor->defined()) continue;
        copies.push_back(world_.broadcast(*named.tensor, 0, named.name));
      }
    }
    for (Collective& copy : copies) copy.wait();
    buckets_.emplace(
        parameters, world_,
        BucketSettings{bytes_of(options_.first_bucket_mb), bytes_of(options_.bucket_cap_mb)});
    buckets_->expect_complete(false);
  }

  void begin_micro_batch(Block&, bool is_last) override { buckets_->expect_complete(is_last); }

  void finish_backward(Block&) override {
    buckets_->finish();
    buckets_->expect_complete(false);
  }

  double clip_grad_norm(Block& model, double max_norm) override {
    std::vector<at::Tensor> gradients = gradients_of(model);
    const double norm = gradient_norm(gradients);
    clip_gradients(gradients, norm, max_norm);
    return norm;
  }

  std::vector<double> sum_over_data(std::vector<double> values) override {
    const at::Tensor sums = at::tensor(values, at::kDouble).to(world_.device_type());
    world_.all_reduce(sums, Reduction::kSum, "sum_over_data").wait();
    const at::Tensor here = sums.cpu();
    return {here.data_ptr<double>(), here.data_ptr<double>() + here.numel()};
  }

 private:
  DdpOptions options_;
  std::unique_ptr<Communicator> alone_;
  Communicator& world_;
  MeshShape mesh_;
  std::optional<GradientBuckets> buckets_;
};

std::unique_ptr<ParallelStrategy> create(const Config& node, const BuildContext& context) {
  return std::make_unique<Ddp>(read_options<DdpOptions>(node, context.path), context.world,
                               context.path);
}

}  // namespace
}  // namespace s2s::ddp

S2S_PLUGIN("ddp", "0.1.0", "Apache-2.0", "strategy:ddp") {
  s2s::Component<s2s::ParallelStrategy> component;
  component.name = "ddp";
  component.summary = "the whole model on every rank, each with its part of the data";
  component.status = s2s::Status::kWorkInProgress;
  component.create = s2s::ddp::create;
  component.options = s2s::list_options<s2s::ddp::DdpOptions>;
  registrar.add(std::move(component));
}
