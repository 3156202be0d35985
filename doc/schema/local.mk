# SPDX-License-Identifier: BSD-2-Clause
# The JSON Schemas (draft 7) of the documents that the tools print with --json.
schemadir = $(pkgdatadir)/schema
dist_schema_DATA = \
    %reldir%/dat_conf.json \
    %reldir%/dat_doctor.json \
    %reldir%/dat_info.json \
    %reldir%/dat_perf.json \
    %reldir%/dat_ping.json \
    %reldir%/dat_regd.json \
    %reldir%/dat_stat.json \
    %reldir%/dat_strerror.json \
    %reldir%/dat_trace.json \
    %reldir%/opendat_check.json \
    %reldir%/softverbs_explore.json \
    %reldir%/softverbs_faults.json
