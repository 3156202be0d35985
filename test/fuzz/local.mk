# SPDX-License-Identifier: BSD-2-Clause
# Fuzz targets. With --enable-fuzzers (clang) each is linked with libFuzzer and run by hand:
#   ./configure CC=clang-14 CXX=clang++-14 --enable-fuzzers --enable-sanitizer=address,undefined
#   make test/fuzz/fuzz_dat_conf && test/fuzz/fuzz_dat_conf -max_total_time=1800 NEW_DIRECTORY CORPUS...
# Otherwise each is a test that replays its corpora. The input of every finding is added to them.
fuzz_targets = test/fuzz/fuzz_dat_conf test/fuzz/fuzz_records test/fuzz/fuzz_private_data test/fuzz/fuzz_scm_message test/fuzz/fuzz_ucm_message \
    test/fuzz/fuzz_trace test/fuzz/fuzz_configuration test/fuzz/fuzz_regd test/fuzz/fuzz_fault_rules test/fuzz/fuzz_fault_files
check_PROGRAMS += $(fuzz_targets)
if FUZZERS
fuzz_main = %reldir%/input.hpp
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
else
fuzz_main = %reldir%/input.hpp %reldir%/replay.cpp
fuzz_ldflags = $(AM_LDFLAGS)
TESTS += $(fuzz_targets)
endif

test_fuzz_fuzz_dat_conf_SOURCES = %reldir%/fuzz_dat_conf.cpp $(fuzz_main)
test_fuzz_fuzz_dat_conf_LDADD = libregistry.la
test_fuzz_fuzz_dat_conf_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_dat_conf_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the dat.conf reader takes any bytes and reads the good lines around them"' \
    -DFUZZ_CORPORA='"test/compat/registry/corpus test/fuzz/corpus/dat_conf"'

test_fuzz_fuzz_configuration_SOURCES = %reldir%/fuzz_configuration.cpp $(fuzz_main)
test_fuzz_fuzz_configuration_LDADD = libregistry.la libyamlreader.la libsupport.la
test_fuzz_fuzz_configuration_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_configuration_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the opendat.yaml reader takes any bytes, and only values that are right"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/configuration"'

test_fuzz_fuzz_trace_SOURCES = %reldir%/fuzz_trace.cpp $(fuzz_main)
test_fuzz_fuzz_trace_LDADD = libtracing.la libtools.la libsupport.la
test_fuzz_fuzz_trace_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_trace_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"dat_trace takes any bytes as a core file or a dump"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/trace"'

test_fuzz_fuzz_records_SOURCES = %reldir%/fuzz_records.cpp test/support/raw_member.hpp $(fuzz_main)
test_fuzz_fuzz_records_LDADD = libsoftverbs_core.la libsupport.la
test_fuzz_fuzz_records_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_records_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the software device takes any records from a peer"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/records"'

cma_libs = libcma.la libsockets.la libexchange.la libdaplcore.la libsupport.la
fake_rdmacm = %reldir%/fake_rdmacm.cpp %reldir%/fake_rdmacm.hpp \
    test/dapl/fake_device.cpp test/dapl/fake_device.hpp providers/cma/rdma_devices.cpp providers/cma/rdma_devices.hpp

test_fuzz_fuzz_private_data_SOURCES = %reldir%/fuzz_private_data.cpp $(fake_rdmacm) $(fuzz_main)
test_fuzz_fuzz_private_data_LDADD = $(cma_libs)
test_fuzz_fuzz_private_data_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_private_data_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the connection manager over rdma_cm takes any events and private data from a peer"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/private_data"'

test_fuzz_fuzz_scm_message_SOURCES = %reldir%/fuzz_scm_message.cpp $(fuzz_main)
test_fuzz_fuzz_scm_message_LDADD = libscm.la libsockets.la libexchange.la
test_fuzz_fuzz_scm_message_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_scm_message_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the connection manager over sockets reads any bytes in any pieces"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/scm_message"'

test_fuzz_fuzz_ucm_message_SOURCES = %reldir%/fuzz_ucm_message.cpp $(fuzz_main)
test_fuzz_fuzz_ucm_message_LDADD = libucm.la libexchange.la
test_fuzz_fuzz_ucm_message_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_ucm_message_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the connection manager over datagrams reads any bytes"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/ucm_message"'

test_fuzz_fuzz_regd_SOURCES = %reldir%/fuzz_regd.cpp $(fuzz_main)
test_fuzz_fuzz_regd_LDADD = libregd.la libregistrations.la libsupport.la
test_fuzz_fuzz_regd_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_regd_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"dat_regd takes any messages from its clients and gives nobody more than there is"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/regd"'

test_fuzz_fuzz_fault_rules_SOURCES = %reldir%/fuzz_fault_rules.cpp $(fuzz_main)
test_fuzz_fuzz_fault_rules_LDADD = libsoftverbs_core.la libsupport.la
test_fuzz_fuzz_fault_rules_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_fault_rules_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the reader of fault rules takes any bytes, and prints what it takes"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/fault_rules"'

test_fuzz_fuzz_fault_files_SOURCES = %reldir%/fuzz_fault_files.cpp $(fuzz_main)
test_fuzz_fuzz_fault_files_LDADD = libsoftverbs_core.la libyamlreader.la libsupport.la
test_fuzz_fuzz_fault_files_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_fault_files_CPPFLAGS = $(AM_CPPFLAGS) \
    -DFUZZ_TEST='"the reader of YAML files of fault rules takes any bytes, and prints what it takes"' \
    -DFUZZ_CORPORA='"test/fuzz/corpus/fault_files"'

EXTRA_DIST += %reldir%/corpus
