// SPDX-License-Identifier: BSD-2-Clause
#include "check/verbs/context.hpp"
#include "check/verbs/objects.hpp"
#include "check/verbs/routed.hpp"

namespace check::verbs {
namespace {

constexpr unsigned kAllRights = kLocalWrite | kRemoteRead | kRemoteWrite | kRemoteAtomic;

/// A region as the program asked for it.
struct Asked {
    std::uint64_t first;
    std::uint64_t memory;  ///< 0: the program cannot reach it by an address
    std::uint64_t length;
    unsigned rights;
};

Asked asked(const void* address, std::size_t length, std::uint64_t first, unsigned access) {
    const auto memory = reinterpret_cast<std::uint64_t>(address);
    return {(access & IBV_ACCESS_ZERO_BASED) ? 0 : first, memory, length, rights_of(access)};
}

void add_keys(Model& state, const ibv_mr& mr, const Region& region) REQUIRES(state.mutex) {
    state.regions.add(kProcess, mr.lkey, region);
    if (region.rights & ~unsigned{kLocalWrite}) state.remote_regions.add(kProcess, mr.rkey, region);
}

ibv_mr* learned(ibv_mr* mr, const Asked& asked) {
    if (!mr) return nullptr;
    Object object;
    object.kind = kRegion;
    object.owner = kProcess;
    object.device = mr->context;
    object.parent = mr->pd;
    object.made = here();
    object.key = mr->lkey;
    object.remote_key = mr->rkey;
    Region region;
    region.handle = mr;
    region.first = asked.first;
    region.memory = asked.memory;
    region.length = asked.length;
    region.rights = asked.rights;
    region.zone = zone_of(mr->pd);
    region.made = object.made;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        state.objects.add(mr, object);
        add_keys(state, *mr, region);
    });
    return mr;
}

/// @return 0, or the error with which the call must fail.
int check_use(const char* call, const ibv_mr* mr) {
    if (!policy().checks_for(kBuffers)) return 0;
    Found found;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        if (state.objects.find_live(mr)) state.find_use(kProcess, mr->lkey, found);
    });
    return refuse(found, call);
}

void end_keys(const Ending& ending) {
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        const Object* object = state.objects.find_live(ending.handle);
        if (!object || object->made.time != ending.made.time) return;
        state.regions.end(kProcess, object->key, ending.handle, ending.now);
        state.remote_regions.end(kProcess, object->remote_key, ending.handle, ending.now);
    });
}

}  // namespace

ibv_mr* Checked<soft0_ibv_reg_mr>::call(const char*, ibv_pd* pd, void* address, size_t length,
                                        int access) {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    return learned(soft0_ibv_reg_mr(pd, address, length, access),
                   asked(address, length, first, static_cast<unsigned>(access)));
}

ibv_mr* Checked<soft0_ibv_reg_mr_iova>::call(const char*, ibv_pd* pd, void* address, size_t length,
                                             uint64_t iova, int access) {
    return learned(soft0_ibv_reg_mr_iova(pd, address, length, iova, access),
                   asked(address, length, iova, static_cast<unsigned>(access)));
}

ibv_mr* Checked<soft0_ibv_reg_mr_iova2>::call(const char*, ibv_pd* pd, void* address, size_t length,
                                              uint64_t iova, unsigned access) {
    return learned(soft0_ibv_reg_mr_iova2(pd, address, length, iova, access),
                   asked(address, length, iova, access));
}

ibv_mr* Checked<soft0_ibv_reg_dmabuf_mr>::call(const char*, ibv_pd* pd, uint64_t offset,
                                               size_t length, uint64_t iova, int fd, int access) {
    return learned(soft0_ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access),
                   asked(nullptr, length, iova, static_cast<unsigned>(access)));
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access) {
    return learned(originals().reg_dm_mr(pd, dm, offset, length, access),
                   asked(nullptr, length, offset, access));
}

/// Nothing is known of it but its keys.
ibv_mr* Checked<soft0_ibv_import_mr>::call(const char*, ibv_pd* pd, uint32_t handle) {
    return learned(soft0_ibv_import_mr(pd, handle), {0, 0, UINT64_MAX, kAllRights});
}

void Checked<soft0_ibv_unimport_mr>::call(const char*, ibv_mr* mr) {
    const Ending ending = begin_end(mr);
    soft0_ibv_unimport_mr(mr);
    end(ending);
}

int Checked<soft0_ibv_rereg_mr>::call(const char*, ibv_mr* mr, int flags, ibv_pd* pd, void* address,
                                      size_t length, int access) {
    const Ending ending = begin_end(mr);
    const int code = soft0_ibv_rereg_mr(mr, flags, pd, address, length, access);
    if (code != 0) return code;
    with_model([&](Model& state) NO_THREAD_SAFETY_ANALYSIS {
        Object* object = state.objects.find_live(mr);
        const Region* before = object ? state.regions.find(kProcess, object->key) : nullptr;
        if (!before) return;
        Region region = *before;
        if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
            region.first = region.memory = reinterpret_cast<std::uint64_t>(address);
            region.length = length;
        }
        if (flags & IBV_REREG_MR_CHANGE_PD) region.zone = zone_of(pd);
        if (flags & IBV_REREG_MR_CHANGE_ACCESS)
            region.rights = rights_of(static_cast<unsigned>(access));
        state.regions.end(kProcess, object->key, mr, ending.now);
        state.remote_regions.end(kProcess, object->remote_key, mr, ending.now);
        region.is_live = true;
        object->key = mr->lkey;
        object->remote_key = mr->rkey;
        add_keys(state, *mr, region);
    });
    return code;
}

int Checked<soft0_ibv_dereg_mr>::call(const char* name, ibv_mr* mr) {
    if (const int refused = check_use(name, mr)) return refused;
    const Ending ending = begin_end(mr);
    // A post that overlaps with the end is checked against the region, as the device does.
    const int code = soft0_ibv_dereg_mr(mr);
    if (code == EBUSY) tell_in_use(name, mr);
    if (code != 0) return code;
    end_keys(ending);
    end(ending);
    return code;
}

}  // namespace check::verbs
