// SPDX-License-Identifier: BSD-2-Clause
// Stubs of the libdat2 functions that the core calls, for programs that need only some objects of
// the core.
#include <dat2/udat.h>

#include <dat2/dat_registry.h>

extern "C" {

DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE* other) {
    *other = handle;
    return DAT_SUCCESS;
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER*, const DAT_PROVIDER_INFO*) {
    return DAT_SUCCESS;
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER*, const DAT_PROVIDER_INFO*) {
    return DAT_SUCCESS;
}

}  // extern "C"
