// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The device list, open and close.
#include <infiniband/verbs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <string>

#include "providers/soft/softverbs/fabric/devices.hpp"
#include "providers/soft/softverbs/verbs/completion_queue.hpp"
#include "providers/soft/softverbs/verbs/context.hpp"
#include "providers/soft/softverbs/verbs/device_memory.hpp"
#include "providers/soft/softverbs/verbs/devices.hpp"
#include "providers/soft/softverbs/verbs/extended_objects.hpp"
#include "providers/soft/softverbs/verbs/memory_windows.hpp"
#include "providers/soft/softverbs/verbs/on_demand.hpp"
#include "providers/soft/softverbs/verbs/parent_domain.hpp"
#include "providers/soft/softverbs/verbs/query.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"
#include "providers/soft/softverbs/verbs/shared_receive_queue.hpp"
#include "providers/soft/softverbs/verbs/xrc_domain.hpp"

namespace softverbs {
namespace {

/// libmlx5 and libefa inspect what the real library keeps behind every ibv_device to see whether it
/// is theirs: zeros say that it is not.
struct Device {
    ibv_device device;
    char behind[512];
};

Device make_device(unsigned number) {
    Device made{};
    const std::string name = device_name(number), node = "softverbs" + std::to_string(number);
    made.device.node_type = IBV_NODE_CA;
    made.device.transport_type = IBV_TRANSPORT_IB;
    std::strcpy(made.device.name, name.c_str());
    std::strcpy(made.device.dev_name, node.c_str());
    std::strcpy(made.device.dev_path, ("/sys/class/infiniband_verbs/" + node).c_str());
    std::strcpy(made.device.ibdev_path, ("/sys/class/infiniband/" + name).c_str());
    return made;
}

using AllDevices = std::array<Device, kMostDevices>;

AllDevices make_devices() {
    AllDevices made;
    for (unsigned number = 0; number < kMostDevices; ++number) made[number] = make_device(number);
    return made;
}

/// Returns a device. It exists as long as the library is loaded: programs compare its address and
/// use it after freeing the list.
ibv_device* device(unsigned number) {
    static AllDevices all = make_devices();
    return &all[number].device;
}

/// @return nullopt for a device that this process does not see.
std::optional<unsigned> number_of(const ibv_device* wanted) {
    for (unsigned number = 0; number < device_count(); ++number)
        if (wanted == device(number)) return number;
    return std::nullopt;
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
    return CompletionQueue::of(cq).poll(count, wc);
}
int req_notify_cq(ibv_cq* cq, int solicited_only) {
    return CompletionQueue::of(cq).arm(solicited_only != 0);
}
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
    return also_errno(QueuePair::of(qp).post_send(wr, bad));
}
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    return also_errno(QueuePair::of(qp).post_receive(wr, bad));
}
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    return also_errno(SharedReceiveQueue::of(srq).post(wr, bad));
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
    const CancellationDisabled guard;
    if (is_refused(pd->context, faults::Subject::kAllocMw)) return nullptr;
    try {
        return MemoryWindow::create(ProtectionDomain::of(pd), type);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* request) {
    return also_errno(QueuePair::of(qp).bind(*mw, *request));
}
int dealloc_mw(ibv_mw* mw) {
    const CancellationDisabled guard;
    return also_errno(MemoryWindow::destroy(&MemoryWindow::of(mw)));
}

void fill_operations(Context& context) {
    context.verbs.sz = sizeof(verbs_context);
    context.verbs.query_port = query_port_attributes;
    context.verbs.query_device_ex = query_device_extended;
    context.verbs.create_cq_ex = create_extended_cq;
    context.verbs.create_qp_ex = create_extended_qp;
    context.verbs.advise_mr = advise;
    context.verbs.alloc_dm = allocate_device_memory;
    context.verbs.free_dm = free_device_memory;
    context.verbs.reg_dm_mr = register_device_memory;
    context.verbs.alloc_td = allocate_thread_domain;
    context.verbs.dealloc_td = free_thread_domain;
    context.verbs.alloc_parent_domain = allocate_parent_domain;
    context.verbs.query_rt_values = query_clock;
    context.verbs.modify_cq = modify_completion_queue;
    context.verbs.create_srq_ex = create_extended_srq;
    context.verbs.get_srq_num = get_srq_number;
    context.verbs.open_qp = open_queue_pair;
    context.verbs.open_xrcd = open_xrc_domain;
    context.verbs.close_xrcd = close_xrc_domain;
    ibv_context& verbs = context.verbs.context;
    verbs.device = device(context.device);
    verbs.abi_compat = __VERBS_ABI_IS_EXTENDED;
    verbs.cmd_fd = -1;
    verbs.num_comp_vectors = 1;
    verbs.ops.alloc_mw = alloc_mw;
    verbs.ops.bind_mw = bind_mw;
    verbs.ops.dealloc_mw = dealloc_mw;
    verbs.ops.poll_cq = poll_cq;
    verbs.ops.req_notify_cq = req_notify_cq;
    verbs.ops.post_send = post_send;
    verbs.ops.post_recv = post_recv;
    verbs.ops.post_srq_recv = post_srq_recv;
    pthread_mutex_init(&verbs.mutex, nullptr);
}

/// Makes the context known to its adapter, unless its device has been removed.
ibv_context* enlist(std::unique_ptr<Context> context) {
    const std::shared_ptr<Adapter> adapter = context->adapter;
    if (adapter->process().device_states().is_removed(context->device)) {
        context.reset();
        Adapter::leave(adapter);
        errno = ENODEV;
        return nullptr;
    }
    adapter->add(context.get());
    return context.release()->handle();
}

ibv_context* open_context(unsigned number) {
    auto context = std::make_unique<Context>();
    context->device = number;
    const int fd = context->events.open(*context);
    if (fd < 0) return nullptr;
    Result<std::shared_ptr<Adapter>> adapter = Adapter::join();
    if (!adapter) {
        errno = adapter.error();
        return nullptr;
    }
    context->adapter = *adapter;
    fill_operations(*context);
    context->verbs.context.async_fd = fd;
    return enlist(std::move(context));
}

}  // namespace

bool is_soft(const ibv_device* device) {
    return number_of(device).has_value();
}

bool is_soft(const ibv_context& context) {
    return is_soft(context.device);
}

}  // namespace softverbs

extern "C" {

#undef ibv_get_device_list
ibv_device** ibv_get_device_list(int* count) {
    const unsigned all = softverbs::device_count();
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers
    auto** list = static_cast<ibv_device**>(std::calloc(all + 1, sizeof(ibv_device*)));
    if (count) *count = list ? static_cast<int>(all) : 0;
    if (!list) return nullptr;
    for (unsigned number = 0; number < all; ++number) list[number] = softverbs::device(number);
    return list;
}

void ibv_free_device_list(ibv_device** list) {
    std::free(list);
}

const char* ibv_get_device_name(ibv_device* device) {
    return device->name;
}

int ibv_get_device_index(ibv_device*) {
    return -1;  // only kernel devices have an index
}

ibv_context* ibv_open_device(ibv_device* device) {
    const softverbs::CancellationDisabled guard;
    const std::optional<unsigned> number = softverbs::number_of(device);
    if (!number) {
        errno = ENODEV;
        return nullptr;
    }
    try {
        return softverbs::open_context(*number);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int ibv_close_device(ibv_context* context) {
    const softverbs::CancellationDisabled guard;
    softverbs::Context* mine = &softverbs::Context::of(context);
    std::shared_ptr<softverbs::Adapter> adapter = mine->adapter;
    adapter->remove(mine);
    pthread_mutex_destroy(&context->mutex);
    delete mine;
    softverbs::Adapter::leave(adapter);
    return 0;
}

}  // extern "C"
