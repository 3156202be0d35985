# SPDX-License-Identifier: BSD-2-Clause
# How test programs are compiled and linked. Included last, when all of them are known.
test_rooms = api broker cma compat dapl dat device registry scm softverbs support tools
# Behind the user's own flags: more would take longer to compile than it saves (-O1 a third more). What counts instructions is in
# test/bench. `private`: not for what is made for them.
TEST_CXXFLAGS = -O0 -g1
if SANITIZER
TEST_CXXFLAGS += -fno-sanitize=undefined
endif
$(test_rooms:%=test/%/%.o): private CXXFLAGS += $(TEST_CXXFLAGS) $(PRECOMPILED:%=-include %)

objects_of = $($(subst -,_,$(subst /,_,$(1)))_OBJECTS)
$(foreach program,$(check_PROGRAMS) $(EXTRA_PROGRAMS),$(call objects_of,$(program))): $(PRECOMPILED:=.gch)
test/support/precompiled.hpp.gch: $(srcdir)/test/support/precompiled.hpp test/support/$(am__dirstamp)
	$(AM_V_CXX)$(call precompile,$(TEST_CXXFLAGS))
-include test/support/precompiled.hpp.gch.d
CLEANFILES += test/support/precompiled.hpp.gch*

# Those that ask for nothing special; automake gives the others a command of their own.
$(check_PROGRAMS): private CXXLINK = $(top_srcdir)/test/support/link $(CXXLD) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
EXTRA_DIST += test/support/link
