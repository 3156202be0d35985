# SPDX-License-Identifier: BSD-2-Clause
# Precompiled headers, which halve the time of a first build. The compiler takes NAME.gch where it is told to include NAME. gcc
# refuses one that was made with other macros (-O2, -Os, -fPIC) and reads NAME instead, but it does not see another visibility.
# Without: PRECOMPILED= on make's command line, as check-clang does, so that it finds an include that is missing.
PRECOMPILED = test/support/precompiled.hpp

# ccache looks at NAME.gch.sum in place of a file of 60 MB, which differs each time it is made.
precompile = $(CXXCOMPILE) $(1) -x c++-header -MD -MP -MF $@.d -c -o $@ $< && $(CXXCOMPILE) $(1) -x c++-header -E -P -dD $< | cksum >$@.sum
export CCACHE_PCH_EXTSUM = 1

# The objects of libraries that have the usual flags, and of those that have the software device's.
hidden_objects = $(foreach library,$(subst .,_,$(subst -,_,$(subst /,_,$(LTLIBRARIES)))),$(if $($(library)_CXXFLAGS),,$($(library)_OBJECTS)))
default_objects = $(libsoftverbs_base_la_OBJECTS) $(libsoftverbs_core_la_OBJECTS) $(libsoftverbs_faulty_la_OBJECTS)
size_objects = $(if $(SIZE_CXXFLAGS),$(filter $(size_rooms:%=%/%),$(hidden_objects) $(default_objects)))
precompiled_of = precompiled/$(if $(filter $(default_objects),$@),default,hidden)$(if $(filter $(size_objects),$@),-size).hpp
precompiled_all = $(foreach size,.hpp $(SIZE_CXXFLAGS:%=-size.hpp),precompiled/hidden$(size).gch precompiled/default$(size).gch)
$(hidden_objects) $(default_objects): private CXXFLAGS += $(PRECOMPILED:%=-include $(precompiled_of))
$(hidden_objects) $(default_objects): $(PRECOMPILED:%=$(precompiled_all))
$(precompiled_all): support/base/precompiled.hpp
	$(AM_V_at)$(MKDIR_P) precompiled && echo '#include "support/base/precompiled.hpp"' >$(@:.gch=)
	$(AM_V_CXX)$(call precompile,$(if $(findstring default,$@),$(libsoftverbs_core_la_CXXFLAGS)) \
	  $(if $(findstring size,$@),$(SIZE_CXXFLAGS)) `$(LIBTOOL) --tag=CXX --config | sed -n 's/^pic_flag="\(.*\)"/\1/p'`)
-include $(precompiled_all:=.d)
CLEANFILES += precompiled/*
EXTRA_DIST += support/base/precompiled.hpp
