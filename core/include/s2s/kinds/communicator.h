#pragma once
// Collective communication between the ranks of a run: kind `communicator`.
//
//   Collective gathered = group.all_gather(full, shard, "layers.3");
//   ...                       // work that does not touch `full` and `shard`
//   gathered.wait();
//
// Every rank of a group calls the same collectives in the same order. Tensors are contiguous and
// must not be read or written until `wait` has returned. (core/docs/guides/parallelism.md)

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace c10d {
class Store;
}

namespace s2s {

/// How the elements of several ranks are combined.
enum class Reduction { kSum, kAverage, kMax, kMin };
/// As messages have it.
const char* to_string(Reduction reduction);

/// The collective operations.
enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kSend,
  kRecv,
  kBarrier
};
/// As messages have it.
const char* to_string(CollectiveKind kind);

/// One collective as a rank called it. Used in messages, tests and the flight recorder.
struct CollectiveRecord {
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::string group;      // the communicator's name
  int64_t sequence = 0;   // 0-based, of this group and rank
  std::string name;       // the caller's name for it, or ""
  int64_t num_bytes = 0;  // of the whole tensor: all_gather's output, reduce_scatter's input
  at::ScalarType dtype = at::kByte;
  Reduction reduction = Reduction::kSum;  // of all_reduce and reduce_scatter
  int64_t peer = -1;                      // broadcast's root, the other rank of send and recv
};

/// A running collective of a back end.
class CollectiveWork {
 public:
  virtual ~CollectiveWork();
  /// CPU: returns when the outputs are complete. GPU: the current stream waits for them. From then
  /// on, this object must not hold the memory of the outputs.
  virtual void wait() = 0;
  /// Does not wait. After `wait`, it may be called on another thread.
  virtual bool is_done() = 0;
};

class Communicator;

/// A running collective. If it is dropped without `wait`, its outputs are undefined. Its
/// communicator must outlive it.
class [[nodiscard]] Collective final {
 public:
  /// Waits as CollectiveWork::wait does. Later calls return at once. Errors: [comm/timeout],
  /// [comm/lost], [comm/failed], each with the collective, its group and the ranks.
  void wait();
  bool is_done();

 private:
  friend class Communicator;
  Collective(Communicator& communicator, CollectiveRecord record,
             std::unique_ptr<CollectiveWork> work);
  Communicator* communicator_;
  CollectiveRecord record_;
  std::unique_ptr<CollectiveWork> work_;  // null once waited for
};

/// The members of a group, and this rank's index among them.
struct GroupPlace {
  std::string name = "world";
  std::vector<int64_t> ranks = {0};  // global ranks
  int64_t rank = 0;                  // this rank's index in `ranks`
  std::chrono::milliseconds timeout{600000};
};

/// Is notified of every collective of a communicator and its subgroups, on the calling thread. Each
/// collective is started, and later either finished or enqueued.
class CollectiveObserver {
 public:
  virtual ~CollectiveObserver();
  /// A collective starts. place: that of the record's group.
  virtual void started(const CollectiveRecord& record, const GroupPlace& place) = 0;
  /// `wait` ends and the collective is over; `failed`: it throws.
  virtual void finished(const CollectiveRecord& record, bool failed) = 0;
  /// `wait` ends, and the collective still runs on the device, where the current stream waits for
  /// it. work: `is_done` tells when it is over. Default: calls `finished`.
  virtual void enqueued(const CollectiveRecord& record, std::unique_ptr<CollectiveWork> work);
  /// `wait` begins.
  virtual void waiting(const CollectiveRecord& record);
  /// Timeout of a collective that starts now. usual: the current timeout. Default: usual.
  virtual std::chrono::milliseconds time_limit(std::chrono::milliseconds usual) const;
  /// A collective failed on this rank with `reason`, the back end's message. Returns what is known
  /// about the cause: lines that begin with "\n ", or "" (the default). May take a few seconds.
  virtual std::string explain_failure(const CollectiveRecord& record, const GroupPlace& place,
                                      const std::string& reason);
};

/// A group of ranks. Roots and peers are ranks within the group.
class Communicator {
 public:
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int64_t rank() const { return place_.rank; }
  int64_t size() const { return static_cast<int64_t>(place_.ranks.size()); }
  const GroupPlace& place() const { return place_; }
  /// The device type on which tensors must be.
  virtual at::DeviceType device_type() const = 0;

  /// In place. The result is bit-identical on all ranks.
  Collective all_reduce(const at::Tensor& tensor, Reduction reduction = Reduction::kSum,
                        std::string_view name = {});
  /// Concatenates the inputs of all ranks in rank order. output: size() times as many elements as
  /// input.
  Collective all_gather(const at::Tensor& output, const at::Tensor& input,
                        std::string_view name = {});
  /// Reduces over ranks; rank r gets the r-th part. input: size() times as many elements as output.
  Collective reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                            Reduction reduction = Reduction::kSum, std::string_view name = {});
  Collective broadcast(const at::Tensor& tensor, int64_t root, std::string_view name = {});
  /// The r-th of size() equal parts of `input` goes to rank r.
  Collective all_to_all(const at::Tensor& output, const at::Tensor& input,
                        std::string_view name = {});
  /// Messages between two ranks arrive in the order in which they were sent.
  Collective send(const at::Tensor& tensor, int64_t to, std::string_view name = {});
  Collective recv(const at::Tensor& tensor, int64_t from, std::string_view name = {});
  Collective barrier(std::string_view name = {});

  /// Creates a group of some of these ranks (ascending, numbered within this group, including this
  /// rank). It has its own order of collectives: two groups of the same ranks do not wait for each
  /// other. All members of the new group must call this, in the same order; other ranks need not.
  std::unique_ptr<Communicator> subgroup(const std::vector<int64_t>& ranks,
                                         const std::string& name);

  /// Sets the observer (not owned); null: none. Subgroups that are created later inherit it.
  void set_observer(CollectiveObserver* observer) { observer_ = observer; }

 protected:
  explicit Communicator(GroupPlace place);

  using Work = std::unique_ptr<CollectiveWork>;
  /// The arguments are already checked: tensors are flat and not empty. A group of one rank is that
  /// of a run with a single process, for which the user has named this communicator.
  virtual Work start_all_reduce(at::Tensor tensor, Reduction reduction) = 0;
  virtual Work start_all_gather(at::Tensor output, at::Tensor input) = 0;
  virtual Work start_reduce_scatter(at::Tensor output, at::Tensor input, Reduction reduction) = 0;
  virtual Work start_broadcast(at::Tensor tensor, int64_t root) = 0;
  virtual Work start_all_to_all(at::Tensor output, at::Tensor input) = 0;
  virtual Work start_send(at::Tensor tensor, int64_t to) = 0;
  virtual Work start_recv(at::Tensor tensor, int64_t from) = 0;
  virtual Work start_barrier() = 0;
  /// `key`: a string that is unique to this group.
  virtual std::unique_ptr<Communicator> make_subgroup(GroupPlace place, const std::string& key) = 0;

 private:
  friend class Collective;
  template <class Start>
  Collective run(CollectiveRecord record, bool has_elements, const Start& start);
  void finish(const CollectiveRecord& record, bool failed);

  GroupPlace place_;
  int64_t next_sequence_ = 0;
  std::map<std::string, int64_t> num_subgroups_;
  CollectiveObserver* observer_ = nullptr;
};

/// Gathers each rank's text, in rank order, on every rank. All ranks call it.
/// Errors: those of collectives.
std::vector<std::string> all_gather_texts(Communicator& group, const std::string& text);

/// Creates a group of one rank, which needs no plugin.
std::unique_ptr<Communicator> make_solo_communicator(
    GroupPlace place, at::DeviceType device_type = at::DeviceType::CPU);

/// This process's rank in the run, and the store for the rendezvous of all processes.
struct ProcessPlace {
  int64_t rank = 0;
  int64_t size = 1;
  int64_t local_rank = 0;  // among the processes of this machine
  int64_t local_size = 1;
  c10d::Store* store = nullptr;  // valid until the run ends
  std::chrono::milliseconds timeout{600000};
};

/// The place of this process in the group of all ranks.
GroupPlace world_place(const ProcessPlace& process);

}  // namespace s2s
