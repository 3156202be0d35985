/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * dat_registry_providers_related over a dat.conf of its own. The library reads that file when it is
 * loaded, so the program writes it and starts itself again with DAT_OVERRIDE.
 */
#include <dat2/dat_registry.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int number;

static void expect(char* one, char* other, DAT_RETURN code, int relationship, const char* what) {
    DAT_HA_RELATIONSHIP found = DAT_HA_CONFLICTING;
    DAT_RETURN answer = dat_registry_providers_related(one, other, &found);
    int good = answer == code && (int)found == relationship;
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, what);
    if (!good) printf("# 0x%08X, relationship %d\n", (unsigned)answer, (int)found);
}

static int start_again(char** argv) {
    char path[] = "/tmp/related_test.XXXXXX";
    FILE* file = fdopen(mkstemp(path), "w");
    if (!file) return 1;
    fputs("one u2.0 nonthreadsafe default libone.so.2 dapl.2.0 \"\" \"\"\n", file);
    fputs("two u2.0 nonthreadsafe default libtwo.so.2 dapl.2.0 \"\" \"\"\n", file);
    fclose(file);
    setenv("DAT_OVERRIDE", path, 1);
    setenv("RELATED_TEST_FILE", path, 1);
    execv("/proc/self/exe", argv);
    return 1;
}

int main(int argc, char** argv) {
    const char* file = getenv("RELATED_TEST_FILE");
    (void)argc;
    if (!file) return start_again(argv);
    unlink(file);
    printf("1..4\n");
    expect("one", "one", DAT_SUCCESS, DAT_HA_TRUE, "an IA is related to itself");
    expect("one", "two", DAT_SUCCESS, DAT_HA_UNKNOWN, "of two IAs the relationship is unknown");
    expect("one", "three", 0x800A0064, DAT_HA_CONFLICTING, "an unknown second name is an error");
    expect("three", "three", 0x800A0064, DAT_HA_CONFLICTING, "an unknown first name is an error");
    return 0;
}
