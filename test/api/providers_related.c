/* SPDX-License-Identifier: BSD-2-Clause */
/* usage: providers_related NAME NAME - prints the code and the relationship. */
#include <dat2/dat_registry.h>
#include <stdio.h>

int main(int argc, char** argv) {
    DAT_HA_RELATIONSHIP relationship = DAT_HA_CONFLICTING;
    DAT_RETURN code;
    if (argc != 3) return 2;
    code = dat_registry_providers_related(argv[1], argv[2], &relationship);
    printf("%08X %d\n", (unsigned)code, (int)relationship);
    return 0;
}
