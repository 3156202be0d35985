# SPDX-License-Identifier: BSD-2-Clause
# Fuzz targets. With --enable-fuzzers (clang) each is linked with libFuzzer and run by hand:
#   ./configure CC=clang-14 CXX=clang++-14 --enable-fuzzers --enable-sanitizer=address,undefined
#   make test/fuzz/fuzz_dat_conf && test/fuzz/fuzz_dat_conf -max_total_time=1800 NEW_DIRECTORY CORPUS...
# Otherwise each is a test that replays its corpora. The input of every finding is added to them.
check_PROGRAMS += test/fuzz/fuzz_dat_conf
test_fuzz_fuzz_dat_conf_SOURCES = %reldir%/fuzz_dat_conf.cpp
test_fuzz_fuzz_dat_conf_LDADD = libregistry.la
if FUZZERS
test_fuzz_fuzz_dat_conf_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
TESTS += test/fuzz/fuzz_dat_conf
test_fuzz_fuzz_dat_conf_SOURCES += %reldir%/replay.cpp
test_fuzz_fuzz_dat_conf_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the dat.conf reader takes any bytes and reads the good lines around them"' \
    -DFUZZ_CORPORA='"test/compat/registry/corpus test/fuzz/corpus/dat_conf"'
endif
check_PROGRAMS += test/fuzz/fuzz_records
test_fuzz_fuzz_records_SOURCES = %reldir%/fuzz_records.cpp test/support/raw_member.hpp
test_fuzz_fuzz_records_LDADD = libsoftverbs_core.la libsupport.la
if FUZZERS
test_fuzz_fuzz_records_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
TESTS += test/fuzz/fuzz_records
test_fuzz_fuzz_records_SOURCES += %reldir%/replay.cpp
test_fuzz_fuzz_records_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the software device takes any records from a peer"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/records"'
endif
EXTRA_DIST += %reldir%/corpus
