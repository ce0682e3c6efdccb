#pragma once
// TCP connections with deadlines. All sockets are closed in programs that this one starts.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

using Deadline = std::chrono::steady_clock::time_point;

/// Sockets that listen at every address of `host` (or of this machine, for ""), at this port.
/// Errors: std::system_error; address_in_use when somebody listens at one of them.
/// std::runtime_error for a name that is not known.
std::vector<int> listen_at(const std::string& host, uint16_t port);
/// True when `host` means this machine and nothing else (127.0.0.1, localhost).
bool is_loopback(const std::string& host);

/// Connects, says `hello`, and expects `welcome`; tries again until the deadline. Returns the
/// socket. Errors: std::runtime_error with what was found last, behind the word of another listener
/// that was there before.
int connect_to(const std::string& host, uint16_t port, std::string_view hello, char welcome,
               Deadline deadline);

/// True when there is something to read, or the peer has closed; false at the deadline.
bool is_readable(int socket, Deadline deadline);
/// Errors: std::runtime_error, also for a peer that has closed and at the deadline ("timed out").
void send_all(int socket, std::string_view bytes, Deadline deadline);
std::string receive(int socket, size_t num_bytes, Deadline deadline);

}  // namespace s2s
