#SPDX - License - Identifier : BSD - 2 - Clause
libdaplcore_la_SOURCES += % reldir % / manager.hpp % reldir % / lock.cpp % reldir % / lock.hpp
