# SPDX-License-Identifier: BSD-2-Clause
libsoftverbs_base_la_SOURCES += \
    %reldir%/fault_log.cpp %reldir%/fault_log.hpp %reldir%/faults.cpp %reldir%/faults.hpp \
    %reldir%/plan.cpp %reldir%/plan.hpp %reldir%/request_faults.cpp %reldir%/request_faults.hpp \
    %reldir%/rule.hpp %reldir%/rule_files.cpp %reldir%/rule_files.hpp %reldir%/rule_text.cpp %reldir%/rule_text.hpp %reldir%/time_scale.cpp %reldir%/time_scale.hpp %reldir%/words.def
