#pragma once
// TCP connections with deadlines. Child processes do not inherit the sockets.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

using Deadline = std::chrono::steady_clock::time_point;

/// Returns sockets that listen on this port at every address of `host` (or of this machine, for
/// "").
/// Errors: std::system_error; address_in_use when one address is in use. std::runtime_error when
/// the name cannot be resolved.
std::vector<int> listen_at(const std::string& host, uint16_t port);
/// Returns true when `host` can only mean this machine (127.0.0.1, localhost).
bool is_loopback(const std::string& host);

/// Connects, sends `hello` and expects `welcome`. Retries until the deadline. Returns the socket.
/// Errors: std::runtime_error with the last problem. If another program answered first, its
/// description comes before that.
int connect_to(const std::string& host, uint16_t port, std::string_view hello, char welcome,
               Deadline deadline);

/// True when data is available or the peer has closed the connection; false at the deadline.
bool is_readable(int socket, Deadline deadline);
/// Errors: std::runtime_error, also when the peer has closed and at the deadline ("timed out").
void send_all(int socket, std::string_view bytes, Deadline deadline);
std::string receive(int socket, size_t num_bytes, Deadline deadline);

}  // namespace s2s
