// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Checks around the functions of libibverbs and librdmacm that libsoftverbs.so exports. The
/// names soft0_NAME are the device's own functions.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <type_traits>

// The headers wrap these in macros.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

extern "C" {
ibv_comp_channel* soft0_ibv_create_comp_channel(ibv_context*);
int soft0_ibv_destroy_comp_channel(ibv_comp_channel*);
void soft0_ibv_ack_cq_events(ibv_cq*, unsigned);
ibv_pd* soft0_ibv_alloc_pd(ibv_context*);
int soft0_ibv_close_device(ibv_context*);
ibv_ah* soft0_ibv_create_ah(ibv_pd*, ibv_ah_attr*);
ibv_ah* soft0_ibv_create_ah_from_wc(ibv_pd*, ibv_wc*, ibv_grh*, uint8_t);
ibv_cq* soft0_ibv_create_cq(ibv_context*, int, void*, ibv_comp_channel*, int);
ibv_qp* soft0_ibv_create_qp(ibv_pd*, ibv_qp_init_attr*);
ibv_srq* soft0_ibv_create_srq(ibv_pd*, ibv_srq_init_attr*);
int soft0_ibv_dealloc_pd(ibv_pd*);
int soft0_ibv_dereg_mr(ibv_mr*);
int soft0_ibv_destroy_ah(ibv_ah*);
int soft0_ibv_destroy_cq(ibv_cq*);
int soft0_ibv_destroy_qp(ibv_qp*);
int soft0_ibv_destroy_srq(ibv_srq*);
int soft0_ibv_get_async_event(ibv_context*, ibv_async_event*);
int soft0_ibv_get_cq_event(ibv_comp_channel*, ibv_cq**, void**);
int soft0_ibv_modify_qp(ibv_qp*, ibv_qp_attr*, int);
int soft0_ibv_query_qp(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*);
ibv_mr* soft0_ibv_reg_mr(ibv_pd*, void*, size_t, int);
ibv_mr* soft0_ibv_reg_mr_iova(ibv_pd*, void*, size_t, uint64_t, int);
ibv_mr* soft0_ibv_reg_mr_iova2(ibv_pd*, void*, size_t, uint64_t, unsigned);
ibv_mr* soft0_ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int);
int soft0_ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, size_t, int);
ibv_mr* soft0_ibv_import_mr(ibv_pd*, uint32_t);
void soft0_ibv_unimport_mr(ibv_mr*);
int soft0_ibv_resize_cq(ibv_cq*, int);
int soft0_rdma_create_ep(rdma_cm_id**, rdma_addrinfo*, ibv_pd*, ibv_qp_init_attr*);
int soft0_rdma_create_qp(rdma_cm_id*, ibv_pd*, ibv_qp_init_attr*);
int soft0_rdma_create_qp_ex(rdma_cm_id*, ibv_qp_init_attr_ex*);
int soft0_rdma_create_srq(rdma_cm_id*, ibv_pd*, ibv_srq_init_attr*);
int soft0_rdma_create_srq_ex(rdma_cm_id*, ibv_srq_init_attr_ex*);
void soft0_rdma_destroy_ep(rdma_cm_id*);
int soft0_rdma_disconnect(rdma_cm_id*);
void soft0_rdma_destroy_qp(rdma_cm_id*);
void soft0_rdma_destroy_srq(rdma_cm_id*);
int soft0_rdma_get_cm_event(rdma_event_channel*, rdma_cm_event**);
int soft0_rdma_get_request(rdma_cm_id*, rdma_cm_id**);
}

namespace check::verbs {

/// Whether the user wants checks of verbs calls (SOFTVERBS_CHECK). Decided once per process.
bool is_on();

/// The program has opened a device of another library, whose objects are not followed.
void see_other_device();

/// Tell of a call on an object that is destroyed. Another kind of object may have got its address,
/// and contexts and domains are made in ways that are not followed. @return whether it is, so that
/// the call must not be made: the memory of the object may be gone.
bool is_gone(const char* call, const ibv_mr* mr);
bool is_gone(const char* call, const ibv_ah* ah);
bool is_gone(const char* call, const ibv_cq* cq);
bool is_gone(const char* call, const ibv_qp* qp);
bool is_gone(const char* call, const ibv_srq* srq);
bool is_gone(const char* call, const ibv_comp_channel* channel);
inline bool is_gone(const char*, const void*) {
    return false;
}

/// Puts the checks around the functions of a context, if they are not there yet.
void watch(const char* call, ibv_context* context);
inline void watch(const char* call, const rdma_cm_id* id) {
    if (id && id->verbs) watch(call, id->verbs);
}
inline void watch(const char*, const void*) {}

/// ibv_ack_async_event on an event of soft0.
void acknowledge(const ibv_async_event& event);

/// A function with its checks. Those that are specialised below have checks of their own.
template <auto function>
struct Checked {
    template <class... Arguments>
    static auto call(const char*, Arguments... arguments) {
        return function(arguments...);
    }
};

/// One of the device's functions, as a program calls it.
template <auto function, class Object>
struct Routed {
    const char* name;
    Object object;  ///< says which context it is

    template <class... Arguments>
    auto operator()(Arguments... arguments) const {
        if (!is_on()) [[likely]]
            return function(arguments...);
        watch(name, object);
        return Checked<function>::call(name, arguments...);
    }
};
template <auto function, class Object>
Routed<function, Object> routed(const char* name, Object object) {
    return {name, object};
}

/// Looks at the first argument of a call before anybody reads the object.
struct First {
    const char* name;
    template <class Object, class... Rest>
    bool operator()(Object* object, const Rest&...) const {
        return is_on() && is_gone(name, object);
    }
};

/// @return the answer of a call that was not made.
template <class Type>
Type not_made() {
    errno = EINVAL;
    if constexpr (std::is_pointer_v<Type>)
        return nullptr;
    else if constexpr (!std::is_void_v<Type>)
        return static_cast<Type>(EINVAL);
}

#define CHECKED(function, type, ...)                     \
    template <>                                          \
    struct Checked<function> {                           \
        static type call(const char* name, __VA_ARGS__); \
    }
// memory.cpp
CHECKED(soft0_ibv_reg_mr, ibv_mr*, ibv_pd* pd, void* address, size_t length, int access);
CHECKED(soft0_ibv_reg_mr_iova, ibv_mr*, ibv_pd* pd, void* address, size_t length, uint64_t iova,
        int access);
CHECKED(soft0_ibv_reg_mr_iova2, ibv_mr*, ibv_pd* pd, void* address, size_t length, uint64_t iova,
        unsigned access);
CHECKED(soft0_ibv_reg_dmabuf_mr, ibv_mr*, ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova,
        int fd, int access);
CHECKED(soft0_ibv_rereg_mr, int, ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length,
        int access);
CHECKED(soft0_ibv_import_mr, ibv_mr*, ibv_pd* pd, uint32_t handle);
CHECKED(soft0_ibv_unimport_mr, void, ibv_mr* mr);
CHECKED(soft0_ibv_dereg_mr, int, ibv_mr* mr);
// objects.cpp
CHECKED(soft0_ibv_create_comp_channel, ibv_comp_channel*, ibv_context* context);
CHECKED(soft0_ibv_alloc_pd, ibv_pd*, ibv_context* context);
CHECKED(soft0_ibv_create_ah, ibv_ah*, ibv_pd* pd, ibv_ah_attr* attributes);
CHECKED(soft0_ibv_create_ah_from_wc, ibv_ah*, ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port);
CHECKED(soft0_ibv_create_cq, ibv_cq*, ibv_context* context, int entries, void* cq_context,
        ibv_comp_channel* channel, int vector);
CHECKED(soft0_ibv_create_qp, ibv_qp*, ibv_pd* pd, ibv_qp_init_attr* attributes);
CHECKED(soft0_ibv_create_srq, ibv_srq*, ibv_pd* pd, ibv_srq_init_attr* attributes);
CHECKED(soft0_ibv_resize_cq, int, ibv_cq* cq, int entries);
CHECKED(soft0_ibv_modify_qp, int, ibv_qp* qp, ibv_qp_attr* attributes, int mask);
CHECKED(soft0_ibv_destroy_comp_channel, int, ibv_comp_channel* channel);
CHECKED(soft0_ibv_dealloc_pd, int, ibv_pd* pd);
CHECKED(soft0_ibv_destroy_ah, int, ibv_ah* ah);
CHECKED(soft0_ibv_destroy_cq, int, ibv_cq* cq);
CHECKED(soft0_ibv_destroy_qp, int, ibv_qp* qp);
CHECKED(soft0_ibv_destroy_srq, int, ibv_srq* srq);
CHECKED(soft0_ibv_close_device, int, ibv_context* context);
// completions.cpp
CHECKED(soft0_ibv_get_cq_event, int, ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);
CHECKED(soft0_ibv_ack_cq_events, void, ibv_cq* cq, unsigned count);
CHECKED(soft0_ibv_get_async_event, int, ibv_context* context, ibv_async_event* event);
// connections.cpp
CHECKED(soft0_rdma_create_ep, int, rdma_cm_id** id, rdma_addrinfo* address, ibv_pd* pd,
        ibv_qp_init_attr* attributes);
CHECKED(soft0_rdma_create_qp, int, rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attributes);
CHECKED(soft0_rdma_create_qp_ex, int, rdma_cm_id* id, ibv_qp_init_attr_ex* attributes);
CHECKED(soft0_rdma_create_srq, int, rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attributes);
CHECKED(soft0_rdma_create_srq_ex, int, rdma_cm_id* id, ibv_srq_init_attr_ex* attributes);
CHECKED(soft0_rdma_destroy_ep, void, rdma_cm_id* id);
CHECKED(soft0_rdma_disconnect, int, rdma_cm_id* id);
CHECKED(soft0_rdma_destroy_qp, void, rdma_cm_id* id);
CHECKED(soft0_rdma_destroy_srq, void, rdma_cm_id* id);
CHECKED(soft0_rdma_get_cm_event, int, rdma_event_channel* channel, rdma_cm_event** event);
CHECKED(soft0_rdma_get_request, int, rdma_cm_id* listener, rdma_cm_id** id);
#undef CHECKED

}  // namespace check::verbs
