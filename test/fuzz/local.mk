# SPDX-License-Identifier: BSD-2-Clause
# Fuzz targets. With --enable-fuzzers (clang) each is linked with libFuzzer and run by hand:
#   ./configure CC=clang-14 CXX=clang++-14 --enable-fuzzers --enable-sanitizer=address,undefined
#   make test/fuzz/fuzz_dat_conf && test/fuzz/fuzz_dat_conf -max_total_time=1800 NEW_DIRECTORY CORPUS...
# Otherwise each is a test that replays its corpora. The input of every finding is added to them.
check_PROGRAMS += test/fuzz/fuzz_dat_conf
test_fuzz_fuzz_dat_conf_SOURCES = %reldir%/fuzz_dat_conf.cpp %reldir%/input.hpp
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
test_fuzz_fuzz_records_SOURCES = %reldir%/fuzz_records.cpp %reldir%/input.hpp test/support/raw_member.hpp
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
# One archive: the core and the manager need each other.
check_LTLIBRARIES += libcma_with_core.la
libcma_with_core_la_SOURCES =
libcma_with_core_la_LIBADD = libdaplcore.la libcma.la libsupport.la
check_PROGRAMS += test/fuzz/fuzz_private_data
test_fuzz_fuzz_private_data_SOURCES = %reldir%/fuzz_private_data.cpp %reldir%/input.hpp \
    %reldir%/fake_rdmacm.cpp %reldir%/fake_rdmacm.hpp \
    test/unit/fake_device.cpp test/unit/fake_device.hpp providers/cma/rdma_devices.cpp
test_fuzz_fuzz_private_data_LDADD = libcma_with_core.la
if FUZZERS
test_fuzz_fuzz_private_data_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
TESTS += test/fuzz/fuzz_private_data
test_fuzz_fuzz_private_data_SOURCES += %reldir%/replay.cpp
test_fuzz_fuzz_private_data_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the connection manager over rdma_cm takes any events and private data from a peer"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/private_data"'
endif
check_PROGRAMS += test/fuzz/fuzz_scm_message
test_fuzz_fuzz_scm_message_SOURCES = %reldir%/fuzz_scm_message.cpp %reldir%/input.hpp
test_fuzz_fuzz_scm_message_LDADD = libscm.la
if FUZZERS
test_fuzz_fuzz_scm_message_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
TESTS += test/fuzz/fuzz_scm_message
test_fuzz_fuzz_scm_message_SOURCES += %reldir%/replay.cpp
test_fuzz_fuzz_scm_message_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the connection manager over sockets reads any bytes in any pieces"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/scm_message"'
endif
# The same parts, with the events of rdma_cm one by one.
check_PROGRAMS += test/unit/cma_events_test
TESTS += test/unit/cma_events_test
test_unit_cma_events_test_SOURCES = test/unit/cma_events_test.cpp test/support/process.hpp \
    %reldir%/fake_rdmacm.cpp %reldir%/fake_rdmacm.hpp \
    test/unit/fake_device.cpp test/unit/fake_device.hpp providers/cma/rdma_devices.cpp
test_unit_cma_events_test_LDADD = libtestmain.la libcma_with_core.la
EXTRA_DIST += %reldir%/corpus
