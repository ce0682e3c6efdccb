#pragma once
// Block: a piece of a model. It names its parameters, and it has the hook where a parallel
// strategy works: `operator()` calls the author's plain single-device `forward`, or gives it to the
// strategy to call. Model code contains no `if (tensor_parallel)`.
//
// Parameters are described first (name, sizes, how to initialize) and given memory later
// (`materialize`, or part by part: s2s/nn/initial_values.h), so that a plan for 70 billion
// parameters can be checked on a laptop, and no rank holds all of them. Shape letters: B batch, T
// frames, S samples, H hidden, K codebooks, V vocabulary, F mel bands.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace s2s {

/// A named group of tensors, as checkpoints store them.
using TensorMap = std::map<std::string, at::Tensor>;

/// How a parameter gets its initial values. A parameter's random stream depends on the run's seed
/// and its own full name only, hence is the same on every layout.
struct Init {
  enum class Kind { kZeros, kOnes, kNormal, kUniform };
  Kind kind = Kind::kNormal;
  double scale = 0.02;  // normal: standard deviation; uniform: drawn from [-scale, scale)
};

/// A parameter or buffer of a tree of blocks.
struct NamedTensor {
  std::string name;    // dotted path from the block that was asked
  at::Tensor* tensor;  // the member itself: assigning replaces it
  std::vector<int64_t> sizes;
  Init init;  // parameters only
  bool is_parameter = true;
  bool persistent = true;  // false: a buffer that is computed, never stored
};

/// Values of some of a model's parameters and buffers that lie elsewhere, as in a file, and are
/// read when they are asked for (s2s/nn/weights.h has those of files).
class WeightSource {
 public:
  virtual ~WeightSource();
  /// Whose values they are: members of blocks (NamedTensor::tensor).
  virtual std::vector<const at::Tensor*> members() const = 0;
  /// Writes all values of a member. destination: of its sizes, contiguous, of any type and device.
  virtual void write(const at::Tensor* member, const at::Tensor& destination) const = 0;
};

/// The type of a buffer in a model whose parameters have type `dtype`: float32 or wider (windows,
/// filter banks and running statistics lose too much in bfloat16); integers stay as they are.
at::ScalarType buffer_type(const at::Tensor& buffer, at::ScalarType dtype);

class Block;
class InitialValues;
struct VocabularySplit;

/// What a parallel strategy does at a block's hook. Not owned by blocks.
class BlockHooks {
 public:
  /// The author's code with copies of its other arguments: it may run again later.
  using Forward = std::function<at::Tensor(const at::Tensor& x)>;
  virtual ~BlockHooks();
  /// Stands for `forward(x)`.
  virtual at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) = 0;
  /// Somebody is about to read the block's parameters without its hook.
  virtual void use(Block&) {}
  /// How the block's rows are split over the tensor axis; null: they are whole.
  virtual const VocabularySplit* vocabulary_split(const Block&) const { return nullptr; }
};

/// Base of every model part. Children are members of the derived class; registering them only
/// records name and address, so a block is neither copied nor moved.
class Block {
 public:
  Block() = default;
  virtual ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// All parameters / buffers below, depth first in registration order. A tied tensor (one member
  /// registered at two places) is listed once, under its first name.
  std::vector<NamedTensor> named_parameters();
  std::vector<NamedTensor> named_buffers();
  /// Calls `visit(path, block)` for this block (path "") and every block below.
  void for_each_block(const std::function<void(const std::string&, Block&)>& visit);
  /// The child with this dotted path, or nullptr.
  Block* find_block(std::string_view path);

  /// Gives memory to everything, and initial values: drawn or, unless `pretrained` is false, those
  /// that parts have stored (`initial_values`).
  void materialize(at::Device device, at::ScalarType dtype, uint64_t seed, bool pretrained = true);
  /// Moves parameters and buffers; parameters get `dtype`, buffers `buffer_type` of it. Parameters
  /// that have no memory get the type only.
  void to(at::Device device, at::ScalarType dtype);

  /// Training or evaluation mode of this block and all below.
  void train(bool on = true);
  bool is_training() const { return training_; }
  void set_requires_grad(bool on);

  /// True for blocks that are called, false for those that only hold others.
  virtual bool is_hooked() const { return false; }
  void set_hooks(BlockHooks* hooks) { hooks_ = hooks; }
  BlockHooks* hooks() const { return hooks_; }

  /// Registers a child under `name`; "" splices the child's names into this block's own. Public
  /// because a model assembles parts it did not write.
  void register_block(std::string name, Block& child);
  /// Forgets a child, so that another block can register it (a model that keeps the embedding
  /// apart from the decoder it came with).
  void release_block(std::string_view name);

 protected:
  /// A tensor that is trained. `slot`: the member; it has no memory before `materialize`.
  void register_parameter(std::string name, at::Tensor& slot, std::vector<int64_t> sizes,
                          Init init);
  /// A tensor that is not trained; `reset_buffers` fills it. See buffer_type for its type.
  void register_buffer(std::string name, at::Tensor& slot, bool persistent = true);
  /// Computes buffers (tables, windows), before a move to the device. Parameters have no memory.
  virtual void reset_buffers() {}
  /// Initial values that are not drawn, for tensors at or below this block: a checkpoint's, where
  /// the options name one. Parameters have sizes and types then, and no memory. Null: none.
  virtual std::unique_ptr<WeightSource> initial_values();

 private:
  friend class InitialValues;
  struct Slot {
    std::string name;
    at::Tensor* tensor;
    std::vector<int64_t> sizes;
    Init init;
    bool is_parameter;
    bool persistent;
  };
  struct Child {
    std::string name;
    Block* block;
  };
  void collect(const std::string& prefix, bool parameters, std::vector<NamedTensor>& out);
  /// Spliced blocks, too, which have no path.
  void visit_all(const std::function<void(Block&)>& visit);

  std::vector<Slot> slots_;
  std::vector<Child> children_;
  BlockHooks* hooks_ = nullptr;
  bool training_ = true;
};

/// A block with one tensor in and one out, and further arguments that the hook leaves alone.
template <class... Args>
class BlockOf : public Block {
 public:
  bool is_hooked() const final { return true; }
  at::Tensor operator()(const at::Tensor& x, Args... args) {
    if (hooks() == nullptr) return forward(x, args...);
    const std::tuple<std::decay_t<Args>...> kept(args...);
    return hooks()->call(*this, x, [this, kept](const at::Tensor& given) {
      return std::apply([&](const auto&... others) { return forward(given, others...); }, kept);
    });
  }

 protected:
  /// The author's code: plain, for one device.
  virtual at::Tensor forward(const at::Tensor& x, Args... args) = 0;
};

}  // namespace s2s
