#include "comm/group_connection.h"

#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "base/threads.h"
#include "comm/comm_errors.h"
#include "comm/rendezvous_store.h"

namespace s2s {

std::unique_ptr<Communicator> connect_group(
    const std::string& name, int64_t rank,
    const std::function<std::unique_ptr<Communicator>()>& connect) {
  try {
    return connect();
  } catch (const Error&) {
    throw;
  } catch (const std::logic_error&) {
    throw;  // an assertion
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      throw threads_error(error.code().message());
    }
    throw comm_errors::connection(name, rank, reason_of(error));
  } catch (const std::exception& error) {
    throw comm_errors::connection(name, rank, reason_of(error));
  }
}

}  // namespace s2s
