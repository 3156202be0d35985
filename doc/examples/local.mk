# SPDX-License-Identifier: BSD-2-Clause
# Examples for users, built so that they stay right; tests run them.
noinst_PROGRAMS += doc/examples/verbs_add
doc_examples_verbs_add_SOURCES = %reldir%/verbs_add.c
doc_examples_verbs_add_CFLAGS = $(AM_CFLAGS) $(RDMACM_CFLAGS)
doc_examples_verbs_add_LDADD = $(RDMACM_LIBS) $(IBVERBS_LIBS)
