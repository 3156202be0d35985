// SPDX-License-Identifier: BSD-2-Clause
// Protection zones, registered memory, and memory windows.
#include <sys/mman.h>

#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

alignas(4096) char memory[65536 + 4096];

/// The arguments of dat_lmr_create() that rows change one by one.
struct Register {
    void* address = memory + 5;
    DAT_VLEN length = 4096;
    unsigned privileges = DAT_MEM_PRIV_ALL_FLAG;
    int type = DAT_MEM_TYPE_VIRTUAL;
    int va_type = DAT_VA_TYPE_VA;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local_key = 0;
    DAT_RMR_CONTEXT remote_key = 0;
    DAT_VLEN registered_length = 0;
    DAT_VADDR registered_address = 0;

    DAT_RETURN operator()(Rig& r) { return in(r, r.side().pz, &lmr); }
    DAT_RETURN in(Rig& r, DAT_PZ_HANDLE pz, DAT_LMR_HANDLE* out) {
        DAT_REGION_DESCRIPTION region{};
        region.for_va = address;
        return dat_lmr_create(r.ia(), static_cast<DAT_MEM_TYPE>(type), region, length, pz,
                              static_cast<DAT_MEM_PRIV_FLAGS>(privileges),
                              static_cast<DAT_VA_TYPE>(va_type), out, &local_key, &remote_key,
                              &registered_length, &registered_address);
    }
};

Row registering(const std::string& name, const char* answer, Register with) {
    return {"dat_lmr_create/" + name, answer, [with](Rig& r) mutable { r << with(r); }};
}

Rows privilege_rows() {
    Rows rows;
    for (const unsigned privileges :
         {0x00u, 0x01u, 0x02u, 0x10u, 0x11u, 0x12u, 0x13u, 0x20u, 0x21u, 0x30u, 0x33u, 0x40u, 0x41u,
          0x50u, 0x73u, 0x80u, 0x100u, 0x133u}) {
        // Remote write and remote atomic access require local write access.
        const bool refused = (privileges & 0x60) != 0 && (privileges & 0x10) == 0;
        rows.push_back(
            {"dat_lmr_create/privileges-" + std::to_string(privileges),
             refused ? "0x00030000" : "0 " + std::to_string(privileges), [privileges](Rig& r) {
                 Register with{.privileges = privileges};
                 const DAT_RETURN code = with(r);
                 r << code;
                 if (code != DAT_SUCCESS) return;
                 DAT_LMR_PARAM p{};
                 succeed(dat_lmr_query(with.lmr, DAT_LMR_FIELD_ALL, &p), "dat_lmr_query");
                 r << static_cast<DAT_COUNT>(p.mem_priv);
             }});
    }
    return rows;
}

Rows create_rows() {
    return {
        {"dat_lmr_create/registered-as-asked", "0 4096 yes",
         [](Rig& r) {
             Register with;
             r << with(r) << with.registered_length
               << (with.registered_address == reinterpret_cast<DAT_VADDR>(memory + 5));
         }},
        registering("length-0", "0", {.length = 0}),
        registering("length-1", "0", {.length = 1}),
        registering("length-65536", "0", {.length = 65536}),
        registering("length-too-big", "0x00030000", {.length = DAT_VLEN{1} << 40}),
        registering("length-of-all-memory", "0x00030000", {.length = ~DAT_VLEN{0}}),
        registering("address-null", "0x00030000", {.address = nullptr}),
        registering("address-unmapped", "0x00030000",
                    {.address = reinterpret_cast<void*>(0x10000)}),
        {"dat_lmr_create/read-only-page", "0x00030000 0",
         [](Rig& r) {
             void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
             Register writing{.address = page, .privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG};
             Register reading{.address = page, .privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG};
             r << writing(r) << reading(r);
         }},
        registering("address-type-unknown", "0", {.va_type = 5}),
        registering("zero-based", "0", {.va_type = DAT_VA_TYPE_ZB}),
        {"dat_lmr_create/shared-virtual", "0",
         [](Rig& r) {
             static char name[DAT_LMR_COOKIE_SIZE] = "a name";
             void* pages =
                 mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
             DAT_REGION_DESCRIPTION region{};
             region.for_shared_memory.virtual_address = pages;
             region.for_shared_memory.shared_memory_id = &name;
             DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
             r << dat_lmr_create(r.ia(), DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, r.side().pz,
                                 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, nullptr, nullptr,
                                 nullptr, nullptr);
         }},
        registering("type-3", "0x80060026", {.type = 3}),
        registering("type-8", "0x80060026", {.type = 8}),
        {"dat_lmr_create/of-no-lmr", "0x8005000D",
         [](Rig& r) {
             Register with{.address = nullptr, .type = DAT_MEM_TYPE_LMR};
             r << with(r);
         }},
        {"dat_lmr_create/of-another-lmr", "0",
         [](Rig& r) {
             Register first;
             succeed(first(r), "dat_lmr_create");
             Register second{.address = first.lmr, .type = DAT_MEM_TYPE_LMR};
             r << second(r);
         }},
        {"dat_lmr_create/same-pages-again", "0 0 yes",
         [](Rig& r) {
             Register first, second;
             r << first(r) << second(r) << (first.local_key != second.local_key);
         }},
        {"dat_lmr_create/out-pointers-null", "0",
         [](Rig& r) {
             DAT_REGION_DESCRIPTION region{};
             region.for_va = memory;
             DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
             r << dat_lmr_create(r.ia(), DAT_MEM_TYPE_VIRTUAL, region, 64, r.side().pz,
                                 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, nullptr, nullptr,
                                 nullptr, nullptr);
         }},
        {"dat_lmr_create/pz-null", "0x8005000F",
         [](Rig& r) {
             Register with;
             r << with.in(r, DAT_HANDLE_NULL, &with.lmr);
         }},
        {"dat_lmr_create/pz-of-another-kind", "0x8005000F",
         [](Rig& r) {
             Register with;
             r << with.in(r, r.side().sends, &with.lmr);
         }},
        {"dat_lmr_create/out-null", "0x8006002B",
         [](Rig& r) {
             Register with;
             r << with.in(r, r.side().pz, nullptr);
         }},
        {"dat_lmr_create/pz-before-out-null", "0x8005000F",
         [](Rig& r) { r << Register().in(r, DAT_HANDLE_NULL, nullptr); }},
    };
}

Rows lmr_rows() {
    return {
        {"dat_lmr_query/all", "0 yes 0 yes 4096 yes 115 0 yes yes 4096 yes",
         [](Rig& r) {
             Register with{.privileges = 0x73};
             succeed(with(r), "dat_lmr_create");
             DAT_LMR_PARAM p{};
             r << dat_lmr_query(with.lmr, DAT_LMR_FIELD_ALL, &p) << (p.ia_handle == r.ia())
               << static_cast<DAT_COUNT>(p.mem_type) << (p.region_desc.for_va == memory + 5)
               << p.length << (p.pz_handle == r.side().pz) << static_cast<DAT_COUNT>(p.mem_priv)
               << static_cast<DAT_COUNT>(p.va_type) << (p.lmr_context == with.local_key)
               << (p.rmr_context == with.remote_key) << p.registered_size
               << (p.registered_address == with.registered_address);
         }},
        {"dat_lmr_query/mask-0-fills-all", "0 4096",
         [](Rig& r) {
             Register with;
             succeed(with(r), "dat_lmr_create");
             DAT_LMR_PARAM p{};
             r << dat_lmr_query(with.lmr, static_cast<DAT_LMR_PARAM_MASK>(0), &p) << p.length;
         }},
        {"dat_lmr_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_lmr_query(r.buffer().lmr, DAT_LMR_FIELD_ALL, nullptr); }},
        {"dat_lmr_free/registered", "0", [](Rig& r) { r << dat_lmr_free(r.buffer().lmr); }},
        {"dat_lmr_sync_rdma_read/segment", "0",
         [](Rig& r) {
             const DAT_LMR_TRIPLET triplet = segment(r.buffer(), 8);
             r << dat_lmr_sync_rdma_read(r.ia(), &triplet, 1);
         }},
        {"dat_lmr_sync_rdma_read/no-segments", "0",
         [](Rig& r) { r << dat_lmr_sync_rdma_read(r.ia(), nullptr, 0); }},
        {"dat_lmr_sync_rdma_write/segment", "0",
         [](Rig& r) {
             const DAT_LMR_TRIPLET triplet = segment(r.buffer(), 8);
             r << dat_lmr_sync_rdma_write(r.ia(), &triplet, 1);
         }},
        {"dat_lmr_sync_rdma_write/no-segments", "0",
         [](Rig& r) { r << dat_lmr_sync_rdma_write(r.ia(), nullptr, 0); }},
        {"dat_pz_create/new", "0 yes",
         [](Rig& r) {
             DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
             r << dat_pz_create(r.ia(), &pz) << (pz != DAT_HANDLE_NULL);
         }},
        {"dat_pz_create/out-null", "0x80060026",
         [](Rig& r) { r << dat_pz_create(r.ia(), nullptr); }},
        {"dat_pz_query/all", "0 yes",
         [](Rig& r) {
             DAT_PZ_PARAM p{};
             r << dat_pz_query(r.side().pz, DAT_PZ_FIELD_ALL, &p) << (p.ia_handle == r.ia());
         }},
        {"dat_pz_query/mask-0-fills-all", "0 yes",
         [](Rig& r) {
             DAT_PZ_PARAM p{};
             r << dat_pz_query(r.side().pz, static_cast<DAT_PZ_PARAM_MASK>(0), &p)
               << (p.ia_handle == r.ia());
         }},
        {"dat_pz_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_pz_query(r.side().pz, DAT_PZ_FIELD_ALL, nullptr); }},
        {"dat_pz_free/unused", "0", [](Rig& r) { r << dat_pz_free(r.side().pz); }},
        {"dat_pz_free/in-use-by-an-lmr", "0x80070053 0 0",
         [](Rig& r) {
             const DAT_LMR_HANDLE lmr = r.buffer().lmr;
             r << dat_pz_free(r.side().pz) << dat_lmr_free(lmr) << dat_pz_free(r.side().pz);
         }},
        {"dat_pz_free/in-use-by-an-ep", "0x80070053",
         [](Rig& r) {
             r.endpoint();
             r << dat_pz_free(r.side().pz);
         }},
    };
}

}  // namespace

Rows memory_rows() {
    Rows rows = privilege_rows();
    for (const Rows& more : {create_rows(), lmr_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
