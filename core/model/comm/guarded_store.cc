#include "comm/guarded_store.h"

#include <c10/util/Exception.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>

#include "comm/sockets.h"

namespace s2s {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// How much longer than a wait its answer may take: a server that was halted gives none.
constexpr milliseconds kAnswerGrace{10000};
/// For LibTorch's "no limit".
constexpr milliseconds kForever = std::chrono::hours(24 * 365);

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

milliseconds or_forever(milliseconds limit) {
  return limit <= milliseconds(0) ? kForever : std::min(limit, kForever);
}

/// Of which the first byte is there. Errors: std::runtime_error.
StoreFrame read_frame(int socket) {
  const Clock::time_point deadline = Clock::now() + kAnswerGrace;
  std::string bytes = receive(socket, 4, deadline);
  bytes += receive(socket, 1, deadline);
  const std::optional<size_t> length = frame_length(bytes);
  if (!length) throw std::runtime_error("an answer that is none");
  size_t left = 0;  // frame_length says only whether all of it is there
  for (size_t i = 0; i < 4; ++i) left |= size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  bytes += receive(socket, left - 1, deadline);
  const std::optional<StoreFrame> answer = to_frame(bytes);
  if (!answer) throw std::runtime_error("an answer that is none");
  return *answer;
}

}  // namespace

GuardedStore::GuardedStore(StoreAddress address, milliseconds timeout,
                           std::shared_ptr<StoreServer> server)
    : c10d::Store(timeout),
      address_(std::move(address)),
      server_(std::move(server)),
      socket_(connect_to(address_.host, address_.port, hello_of(address_.token), kWelcome,
                         Clock::now() + timeout)) {}

GuardedStore::~GuardedStore() { ::close(socket_); }

c10::intrusive_ptr<c10d::Store> GuardedStore::clone() {
  return c10::make_intrusive<GuardedStore>(address_, timeout_);
}

/// A rank 0 that is halted answers later, and the connection is as good as before: what is owed
/// then comes before the answer to the next request.
StoreFrame GuardedStore::ask(const StoreFrame& request, milliseconds limit) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point deadline = Clock::now() + or_forever(limit);
  bool is_late = false;
  if (broken_.empty()) {
    try {
      send_all(socket_, to_bytes(request), deadline);
      ++num_owed_;
      while (is_readable(socket_, deadline)) {
        StoreFrame answer = read_frame(socket_);
        if (--num_owed_ == 0) return answer;
      }
      is_late = true;
    } catch (const std::runtime_error& error) {
      broken_ = error.what();
    }
  }
  TORCH_CHECK_WITH(DistStoreError, !is_late, "the run's store at ", address_.host, ":",
                   address_.port, " has not answered yet: timed out");
  TORCH_CHECK_WITH(DistNetworkError, false, "the run's store at ", address_.host, ":",
                   address_.port, ": ", broken_);
}

std::string GuardedStore::value_of(const StoreFrame& answer) const {
  TORCH_CHECK_WITH(DistStoreError, answer.verb == StoreVerb::kYes && answer.fields.size() == 1,
                   "the run's store at ", address_.host, ":", address_.port,
                   " holds another kind of value");
  return answer.fields[0];
}

void GuardedStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  ask({StoreVerb::kSet, {key, text_of(value)}});
}

std::vector<uint8_t> GuardedStore::compareSet(const std::string& key,
                                              const std::vector<uint8_t>& expected,
                                              const std::vector<uint8_t>& wanted) {
  return bytes_of(value_of(ask({StoreVerb::kSwap, {key, text_of(expected), text_of(wanted)}})));
}

std::vector<uint8_t> GuardedStore::get(const std::string& key) {
  wait({key});
  return bytes_of(value_of(ask({StoreVerb::kGet, {key}})));
}

int64_t GuardedStore::add(const std::string& key, int64_t value) {
  const std::string sum = value_of(ask({StoreVerb::kAdd, {key, std::to_string(value)}}));
  int64_t out = 0;
  std::from_chars(sum.data(), sum.data() + sum.size(), out);
  return out;
}

bool GuardedStore::deleteKey(const std::string& key) {
  return ask({StoreVerb::kDelete, {key}}).verb == StoreVerb::kYes;
}

bool GuardedStore::check(const std::vector<std::string>& keys) {
  return ask({StoreVerb::kCheck, keys}).verb == StoreVerb::kYes;
}

int64_t GuardedStore::getNumKeys() { return std::stoll(value_of(ask({StoreVerb::kCount, {}}))); }

void GuardedStore::wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

void GuardedStore::wait(const std::vector<std::string>& keys, const milliseconds& timeout) {
  const milliseconds limit = or_forever(timeout);
  StoreFrame request = {StoreVerb::kWait, {std::to_string(limit.count())}};
  request.fields.insert(request.fields.end(), keys.begin(), keys.end());
  if (ask(request, limit + kAnswerGrace).verb == StoreVerb::kYes) return;
  TORCH_CHECK_WITH(DistStoreError, false, "wait timeout after ", limit.count(),
                   " ms, keys: ", keys.empty() ? "" : keys.front(), keys.size() > 1 ? ", ..." : "");
}

void GuardedStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  ask({StoreVerb::kAppend, {key, text_of(value)}});
}

std::vector<std::vector<uint8_t>> GuardedStore::multiGet(const std::vector<std::string>& keys) {
  std::vector<std::vector<uint8_t>> out;
  wait(keys);
  for (const std::string& key : keys) out.push_back(get(key));
  return out;
}

void GuardedStore::multiSet(const std::vector<std::string>& keys,
                            const std::vector<std::vector<uint8_t>>& values) {
  for (size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
}

}  // namespace s2s
