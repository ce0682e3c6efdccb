#include "s2s_run/synth/worker_pool.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/interrupt.h"
#include "base/write_whole.h"
#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {

namespace {

/// A message on a worker's pipe: this header, then `size` bytes.
struct MessageHeader {
  uint64_t index;  // of the task; kFailure: the text is exit code, id and message, separated by \n
  uint64_t size;
};
constexpr uint64_t kFailure = UINT64_MAX;

void send(int fd, uint64_t index, const std::string& text) {
  const MessageHeader header = {index, text.size()};
  const bool is_sent =
      write_whole(fd, &header, sizeof header) && write_whole(fd, text.data(), text.size());
  if (!is_sent) _exit(1);  // the parent has ended
}

/// Runs the tasks of a child process. Never returns.
[[noreturn]] void work(int fd, size_t first, size_t step, size_t count,
                       const std::function<std::function<std::string(size_t)>()>& start) {
  std::signal(SIGINT, SIG_IGN);  // the parent stops its workers
  std::signal(SIGTERM, SIG_DFL);
  try {
    const auto task = start();
    for (size_t i = first; i < count; i += step) send(fd, i, task(i));
  } catch (const Error& error) {
    send(fd, kFailure,
         std::to_string(static_cast<int>(error.exit_code())) + "\n" + error.id() + "\n" +
             error.message());
  } catch (const std::exception& error) {
    const Error wrapped = worker_failed(std::string("failed: ") + error.what());
    send(fd, kFailure,
         std::to_string(static_cast<int>(wrapped.exit_code())) + "\n" + wrapped.id() + "\n" +
             wrapped.message());
  }
  _exit(0);
}

[[noreturn]] void throw_relayed(const std::string& text) {
  const size_t first = text.find('\n');
  const size_t second = text.find('\n', first + 1);
  throw relayed(std::stoi(text.substr(0, first)), text.substr(first + 1, second - first - 1),
                text.substr(second + 1));
}

/// The worker processes and their output so far. The destructor stops and reaps running ones.
class Workers {
 public:
  ~Workers() {
    for (const Worker& worker : workers_) {
      if (worker.pid > 0) kill(worker.pid, SIGTERM);
    }
    for (Worker& worker : workers_) {
      if (worker.pid > 0) waitpid(worker.pid, nullptr, 0);
      if (worker.fd >= 0) close(worker.fd);
    }
  }

  void fork_one(size_t step, size_t count,
                const std::function<std::function<std::string(size_t)>()>& start) {
    std::array<int, 2> ends = {-1, -1};
    if (pipe(ends.data()) != 0) throw worker_failed(std::string("has no pipe: ") + strerror(errno));
    const pid_t pid = fork();
    if (pid < 0) {
      const std::string reason = strerror(errno);
      close(ends[0]);
      close(ends[1]);
      throw worker_failed("could not be started: " + reason);
    }
    if (pid == 0) {
      close(ends[0]);
      work(ends[1], workers_.size(), step, count, start);
    }
    close(ends[1]);
    workers_.push_back({pid, ends[0], {}});
  }

  /// Waits for output. False when every worker has ended.
  bool receive(std::vector<std::string>& results, size_t& done) {
    std::vector<pollfd> polls;
    for (const Worker& worker : workers_) polls.push_back({worker.fd, POLLIN, 0});
    if (std::all_of(polls.begin(), polls.end(), [](const pollfd& p) { return p.fd < 0; })) {
      return false;
    }
    if (poll(polls.data(), polls.size(), 200) <= 0) return true;
    for (size_t w = 0; w < polls.size(); ++w) {
      if (polls[w].revents != 0) read_some(workers_[w], results, done);
    }
    return true;
  }

 private:
  struct Worker {
    pid_t pid;
    int fd;
    std::string pending;
  };

  static void read_some(Worker& worker, std::vector<std::string>& results, size_t& done) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(worker.fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      end_of(worker);
      return;
    }
    worker.pending.append(buffer.data(), static_cast<size_t>(got));
    MessageHeader header = {};
    while (worker.pending.size() >= sizeof header) {
      std::memcpy(&header, worker.pending.data(), sizeof header);
      if (worker.pending.size() < sizeof header + header.size) break;
      const std::string text = worker.pending.substr(sizeof header, header.size);
      worker.pending.erase(0, sizeof header + header.size);
      if (header.index == kFailure) throw_relayed(text);
      results.at(header.index) = text;
      ++done;
    }
  }

  static void end_of(Worker& worker) {
    close(worker.fd);
    worker.fd = -1;
    int status = 0;
    waitpid(worker.pid, &status, 0);
    worker.pid = -1;
    if (WIFSIGNALED(status)) {
      throw worker_failed(std::string("was killed by a signal: ") + strsignal(WTERMSIG(status)));
    }
    if (WEXITSTATUS(status) != 0) {
      throw worker_failed("ended with exit code " + std::to_string(WEXITSTATUS(status)));
    }
  }

  std::vector<Worker> workers_;
};

}  // namespace

std::vector<std::string> run_in_workers(
    size_t count, size_t num_workers,
    const std::function<std::function<std::string(size_t)>()>& start, const Progress& progress,
    const std::string& place) {
  std::vector<std::string> results(count);
  const InterruptWatch interrupts;
  Workers workers;
  num_workers = std::clamp<size_t>(num_workers, 1, std::max<size_t>(count, 1));
  for (size_t w = 0; w < num_workers; ++w) workers.fork_one(num_workers, count, start);
  size_t done = 0;
  while (workers.receive(results, done)) {
    if (interrupts.requested()) throw stopped(place);
    progress(done, count);
  }
  if (interrupts.requested()) throw stopped(place);
  return results;
}

}  // namespace s2s::synth
