// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Process-wide mutable state. It lives in pages that the kernel clears in a forked child, and
/// all-zero is the state of a process that has opened nothing. So a child starts anew without
/// touching what belongs to its parent, and no data path has to compare process ids.
#pragma once

#include <atomic>
#include <cstddef>

#include "dapl/base/pool.hpp"
#include "support/base/object_id.hpp"
#include "support/thread/mutex.hpp"

namespace dapl {

class AgentThread;
class DeviceEvents;
class Ia;
class ServiceThread;
namespace memory {
class Client;
}
namespace status {
class Server;
}

/// @return pages that read as zero in this process now and in every forked child later.
/// Never unmapped. Throws std::bad_alloc.
void* map_forgotten_by_children(std::size_t size);

struct ProcessState {
    support::SpinLock providers_lock;  ///< guards the registered names (start_provider.cpp)
    Pool pools[kKinds];
    support::ObjectIds ids;
    /// Held while an adapter instance is opened or closed. Outermost in the lock order.
    support::Mutex open_mutex;
    Ia* first_ia GUARDED_BY(open_mutex);
    DeviceEvents* first_events GUARDED_BY(open_mutex);
    ServiceThread* service GUARDED_BY(open_mutex);
    AgentThread* agents GUARDED_BY(open_mutex);     ///< created and destroyed with the service
    status::Server* status GUARDED_BY(open_mutex);  ///< likewise; nullptr if the setting is off
    memory::Client* first_client GUARDED_BY(open_mutex);
    std::atomic<int> channels;  ///< number of completion channels, all instances
};

/// Throws std::bad_alloc at the first use in a process.
ProcessState& process_state();

}  // namespace dapl
