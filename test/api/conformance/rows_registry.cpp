// SPDX-License-Identifier: BSD-2-Clause
// The registry: the IAs it lists, and those that a provider adds and removes. dat.conf has one
// record, the IA under test.
#include <dat2/udat.h>
// after udat.h, which it needs
#include <dat2/dat_registry.h>

#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

DAT_PROVIDER_INFO named(const char* name) {
    DAT_PROVIDER_INFO info{};
    snprintf(info.ia_name, sizeof info.ia_name, "%s", name);
    info.dapl_version_major = 2;
    return info;
}

Rows list_rows() {
    return {
        {"dat_registry_list_providers/one", "0 1 its-name 2 0 no",
         [](Rig& r) {
             DAT_PROVIDER_INFO info{};
             DAT_PROVIDER_INFO* list[] = {&info};
             DAT_COUNT entries = -7;
             r << dat_registry_list_providers(1, &entries, list) << entries
               << own_or_other(info.ia_name);
             r << static_cast<DAT_COUNT>(info.dapl_version_major)
               << static_cast<DAT_COUNT>(info.dapl_version_minor)
               << (info.is_thread_safe != DAT_FALSE);
         }},
        {"dat_registry_list_providers/more-than-there-are", "0 1",
         [](Rig& r) {
             DAT_PROVIDER_INFO infos[4];
             DAT_PROVIDER_INFO* list[] = {infos, infos + 1, infos + 2, infos + 3};
             DAT_COUNT entries = -7;
             r << dat_registry_list_providers(4, &entries, list) << entries;
         }},
        {"dat_registry_list_providers/max-0-asks-for-the-count", "0x80060025 1",
         [](Rig& r) {
             DAT_PROVIDER_INFO* list[] = {nullptr};
             DAT_COUNT entries = -7;
             r << dat_registry_list_providers(0, &entries, list) << entries;
         }},
        {"dat_registry_list_providers/max-0-without-list", "0x80060025 1",
         [](Rig& r) {
             DAT_COUNT entries = -7;
             r << dat_registry_list_providers(0, &entries, nullptr) << entries;
         }},
        {"dat_registry_list_providers/max-negative", "0 0",
         [](Rig& r) {
             DAT_PROVIDER_INFO* list[] = {nullptr};
             DAT_COUNT entries = -7;
             r << dat_registry_list_providers(-1, &entries, list) << entries;
         }},
        {"dat_registry_list_providers/entries-null", "0x80060026",
         [](Rig& r) {
             DAT_PROVIDER_INFO info;
             DAT_PROVIDER_INFO* list[] = {&info};
             r << dat_registry_list_providers(1, nullptr, list);
         }},
        {"dat_registry_list_providers/list-null", "0x80060027",
         [](Rig& r) {
             DAT_COUNT entries = -7;
             r << dat_registry_list_providers(1, &entries, nullptr);
         }},
        {"dat_registry_list_providers/slot-null", "0x80060027",
         [](Rig& r) {
             DAT_PROVIDER_INFO* list[] = {nullptr};
             DAT_COUNT entries = -7;
             r << dat_registry_list_providers(1, &entries, list);
         }},
    };
}

/// Never called: only its address matters.
DAT_PROVIDER provider;

Rows provider_rows() {
    return {
        {"dat_registry_add_provider/new", "0",
         [](Rig& r) {
             const DAT_PROVIDER_INFO info = named("made-up");
             r << dat_registry_add_provider(&provider, &info);
         }},
        {"dat_registry_add_provider/provider-null", "0x80060025",
         [](Rig& r) {
             const DAT_PROVIDER_INFO info = named("made-up");
             r << dat_registry_add_provider(nullptr, &info);
         }},
        {"dat_registry_add_provider/info-null", "0x80060026",
         [](Rig& r) { r << dat_registry_add_provider(&provider, nullptr); }},
        {"dat_registry_add_provider/key-present", "0 0x80100000",
         [](Rig& r) {
             const DAT_PROVIDER_INFO info = named("made-up");
             r << dat_registry_add_provider(&provider, &info)
               << dat_registry_add_provider(&provider, &info);
         }},
        {"dat_registry_add_provider/other-version-is-another-key", "0 0",
         [](Rig& r) {
             DAT_PROVIDER_INFO info = named("made-up");
             r << dat_registry_add_provider(&provider, &info);
             info.dapl_version_minor = 1;
             r << dat_registry_add_provider(&provider, &info);
         }},
        {"dat_registry_remove_provider/present", "0 0x800A0064",
         [](Rig& r) {
             const DAT_PROVIDER_INFO info = named("made-up");
             succeed(dat_registry_add_provider(&provider, &info), "dat_registry_add_provider");
             r << dat_registry_remove_provider(&provider, &info)
               << dat_registry_remove_provider(&provider, &info);
         }},
        {"dat_registry_remove_provider/provider-null", "0x80060025",
         [](Rig& r) {
             const DAT_PROVIDER_INFO info = named("made-up");
             r << dat_registry_remove_provider(nullptr, &info);
         }},
        {"dat_registry_remove_provider/info-null", "0x80060026",
         [](Rig& r) { r << dat_registry_remove_provider(&provider, nullptr); }},
        {"dat_registry_remove_provider/unknown-key", "0x800A0064",
         [](Rig& r) {
             const DAT_PROVIDER_INFO info = named("made-up");
             r << dat_registry_remove_provider(&provider, &info);
         }},
        {"dat_registry_remove_provider/pointer-is-not-compared", "0",
         [](Rig& r) {
             static DAT_PROVIDER other;
             const DAT_PROVIDER_INFO info = named("made-up");
             succeed(dat_registry_add_provider(&provider, &info), "dat_registry_add_provider");
             r << dat_registry_remove_provider(&other, &info);
         }},
        {"dat_registry_remove_provider/in-use", "0x80110000",
         [](Rig& r) {
             r.side();
             const DAT_PROVIDER_INFO info = named(test::ia_name());
             r << dat_registry_remove_provider(&provider, &info);
         }},
    };
}

DAT_RETURN related(const char* first, const char* second, DAT_HA_RELATIONSHIP* out) {
    return EXPORTED(dat_registry_providers_related)(const_cast<char*>(first),
                                                    const_cast<char*>(second), out);
}

Rows related_rows() {
    return {
        {"dat_registry_providers_related/itself", "0 1",
         [](Rig& r) {
             DAT_HA_RELATIONSHIP answer{};
             r << related(test::ia_name(), test::ia_name(), &answer)
               << static_cast<DAT_COUNT>(answer);
         }},
        {"dat_registry_providers_related/unknown-name", "0x800A0064",
         [](Rig& r) {
             DAT_HA_RELATIONSHIP answer{};
             r << related(test::ia_name(), "none", &answer);
         }},
        {"dat_registry_providers_related/null-arguments", "0x80060025 0x80060026 0x80060027",
         [](Rig& r) {
             DAT_HA_RELATIONSHIP answer{};
             r << related(nullptr, test::ia_name(), &answer)
               << related(test::ia_name(), nullptr, &answer)
               << related(test::ia_name(), test::ia_name(), nullptr);
         }},
    };
}

}  // namespace

Rows registry_rows() {
    Rows rows = list_rows();
    for (const Rows& more : {provider_rows(), related_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
