#pragma once
// Block: a module of a model. It registers its parameters and has a hook for parallel strategies:
// `operator()` calls the author's plain single-device `forward`, or passes it to the strategy,
// which calls it. Model code contains no `if (tensor_parallel)`.
//
// Parameters are first meta tensors (name, sizes, initialization) and get memory later
// (`materialize`, or shard by shard: s2s/nn/initial_values.h). So a plan for 70 billion parameters
// can be checked on a laptop, and no rank holds all of them. Shape letters: B batch, T frames,
// S samples, H hidden, K codebooks, V vocabulary, F mel bands.

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

/// Tensors by name, as checkpoints store them.
using TensorMap = std::map<std::string, at::Tensor>;

/// How a parameter is initialized. A parameter's random stream depends only on the run's seed and
/// the parameter's full name, so it is the same on every layout.
struct Init {
  enum class Kind { kZeros, kOnes, kNormal, kUniform };
  Kind kind = Kind::kNormal;
  double scale = 0.02;  // normal: standard deviation; uniform: drawn from [-scale, scale)
};

/// A parameter or buffer of a tree of blocks.
struct NamedTensor {
  std::string name;    // dotted path relative to the block that listed it
  at::Tensor* tensor;  // points to the member; assigning to it replaces the tensor
  std::vector<int64_t> sizes;
  Init init;  // parameters only
  bool is_parameter = true;
  bool persistent = true;  // false: a buffer that is computed and never saved
};

/// Values of some parameters and buffers that are stored elsewhere, for example in a file, and are
/// read on demand (s2s/nn/weights.h reads files).
class WeightSource {
 public:
  virtual ~WeightSource();
  /// The tensors that have values: members of blocks (NamedTensor::tensor).
  virtual std::vector<const at::Tensor*> members() const = 0;
  /// Writes all values of a member to `destination`, which has the member's sizes, is contiguous,
  /// and may have any dtype and device.
  virtual void write(const at::Tensor* member, const at::Tensor& destination) const = 0;
};

/// The type of a buffer in a model whose parameters have type `dtype`: float32 or wider (windows,
/// filter banks and running statistics lose too much in bfloat16); integers stay as they are.
at::ScalarType buffer_type(const at::Tensor& buffer, at::ScalarType dtype);

class Block;
class InitialValues;
struct VocabularySplit;

/// The interface of a parallel strategy to a block's hook. Not owned by blocks.
class BlockHooks {
 public:
  /// The author's forward with copies of its other arguments. It may be called again later
  /// (activation checkpointing).
  using Forward = std::function<at::Tensor(const at::Tensor& x)>;
  virtual ~BlockHooks();
  /// Called in place of `forward(x)`.
  virtual at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) = 0;
  /// Called before code reads the block's parameters without calling the block.
  virtual void use(Block&) {}
  /// True if `call` does nothing but `use` and `forward`, so that a block above may compute several
  /// such blocks at once. Default: false.
  virtual bool only_calls(const Block&) const { return false; }
  /// How the block's rows are split over the tensor axis; null: not split.
  virtual const VocabularySplit* vocabulary_split(const Block&) const { return nullptr; }
};

/// Base class of every module. Children are members of the derived class. Registering a child
/// records only its name and address, so a block can be neither copied nor moved.
class Block {
 public:
  Block() = default;
  virtual ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// All parameters / buffers of this block and its descendants, depth first in registration order.
  /// A tied tensor (one member registered at two places) is listed once, under its first name.
  std::vector<NamedTensor> named_parameters();
  std::vector<NamedTensor> named_buffers();
  /// Calls `visit(path, block)` for this block (path "") and every block below.
  void for_each_block(const std::function<void(const std::string&, Block&)>& visit);
  /// The child with this dotted path, or nullptr.
  Block* find_block(std::string_view path);

  /// Allocates and initializes all parameters. Values are drawn at random or, unless `pretrained`
  /// is false, read from stored weights where blocks have some (`initial_values`).
  void materialize(at::Device device, at::ScalarType dtype, uint64_t seed, bool pretrained = true);
  /// Moves parameters and buffers; parameters get `dtype`, buffers `buffer_type` of it. Parameters
  /// that have no memory get the type only.
  void to(at::Device device, at::ScalarType dtype);

  /// Sets training or evaluation mode of this block and its descendants.
  void train(bool on = true);
  bool is_training() const { return training_; }
  void set_requires_grad(bool on);

  /// True for blocks that are called; false for containers.
  virtual bool is_hooked() const { return false; }
  void set_hooks(BlockHooks* hooks) { hooks_ = hooks; }
  BlockHooks* hooks() const { return hooks_; }

  /// Registers a child under `name`. With "", the child's names become names of this block. Public
  /// because a model assembles modules of other authors.
  void register_block(std::string name, Block& child);
  /// Unregisters a child, so that another block can register it (for example a model that keeps the
  /// embedding apart from its decoder).
  void release_block(std::string_view name);

 protected:
  /// Registers a trained tensor. `slot`: the member; it has no memory before `materialize`.
  void register_parameter(std::string name, at::Tensor& slot, std::vector<int64_t> sizes,
                          Init init);
  /// A tensor that is not trained; `reset_buffers` fills it. See buffer_type for its type.
  void register_buffer(std::string name, at::Tensor& slot, bool persistent = true);
  /// Computes buffers (tables, windows). Called before they are moved to the device, when
  /// parameters have no memory.
  virtual void reset_buffers() {}
  /// Stored initial values for tensors at or below this block, for example a checkpoint's that the
  /// options name. When this is called, parameters have sizes and dtypes but no memory. Null: none.
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
  /// Visits also blocks that were registered with the name "".
  void visit_all(const std::function<void(Block&)>& visit);

  std::vector<Slot> slots_;
  std::vector<Child> children_;
  BlockHooks* hooks_ = nullptr;
  bool training_ = true;
};

/// A block with one input tensor, one output tensor, and further arguments that the hook passes on
/// unchanged.
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
  /// The author's code, written for a single device.
  virtual at::Tensor forward(const at::Tensor& x, Args... args) = 0;
};

}  // namespace s2s
