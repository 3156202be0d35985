# SPDX-License-Identifier: BSD-2-Clause
# Examples for users. They are built here, and test/tools/examples.bats runs them, so that they stay
# correct. Each is one file plus example.h, and builds with
# `cc NAME.c $(pkg-config --cflags --libs dat2)`.
dat_examples = doc/examples/dat_add doc/examples/delayed_ack doc/examples/event_loop doc/examples/failover \
    doc/examples/ping_pong \
    doc/examples/prefork_server doc/examples/registration_bracket doc/examples/registration_upcalls \
    doc/examples/socket_upgrade doc/examples/srq_server doc/examples/trace_level \
    doc/examples/write_immediate
noinst_PROGRAMS += doc/examples/verbs_add $(dat_examples)
noinst_HEADERS = %reldir%/example.h
EXTRA_DIST += %reldir%/README.md %reldir%/ci
doc_examples_verbs_add_SOURCES = %reldir%/verbs_add.c
doc_examples_verbs_add_CFLAGS = $(AM_CFLAGS) $(RDMACM_CFLAGS)
doc_examples_verbs_add_LDADD = $(RDMACM_LIBS) $(IBVERBS_LIBS)
doc_examples_dat_add_SOURCES = %reldir%/dat_add.c
doc_examples_dat_add_LDADD = libdat2.la
doc_examples_delayed_ack_SOURCES = %reldir%/delayed_ack.c
doc_examples_delayed_ack_LDADD = libdat2.la
doc_examples_event_loop_SOURCES = %reldir%/event_loop.c
doc_examples_event_loop_LDADD = libdat2.la
doc_examples_failover_SOURCES = %reldir%/failover.c
doc_examples_failover_LDADD = libdat2.la
doc_examples_ping_pong_SOURCES = %reldir%/ping_pong.c
doc_examples_ping_pong_LDADD = libdat2.la
doc_examples_prefork_server_SOURCES = %reldir%/prefork_server.c
doc_examples_prefork_server_LDADD = libdat2.la
doc_examples_registration_bracket_SOURCES = %reldir%/registration_bracket.c
doc_examples_registration_bracket_LDADD = libdat2.la
doc_examples_registration_upcalls_SOURCES = %reldir%/registration_upcalls.c
doc_examples_registration_upcalls_LDADD = libdat2.la
doc_examples_socket_upgrade_SOURCES = %reldir%/socket_upgrade.c
doc_examples_socket_upgrade_LDADD = libdat2.la
doc_examples_srq_server_SOURCES = %reldir%/srq_server.c
doc_examples_srq_server_LDADD = libdat2.la
doc_examples_trace_level_SOURCES = %reldir%/trace_level.c
doc_examples_trace_level_LDADD = libdat2.la
doc_examples_write_immediate_SOURCES = %reldir%/write_immediate.c
doc_examples_write_immediate_LDADD = libdat2.la
