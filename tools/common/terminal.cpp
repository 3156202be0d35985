// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/terminal.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace tools {
namespace {

bool is_terminal(std::FILE* stream) {
    const char* kind = std::getenv("TERM");
    return isatty(fileno(stream)) && kind && std::strcmp(kind, "dumb") != 0;
}

/// Select Graphic Rendition parameters, ECMA-48 8.3.117.
const char* rendition(Colour colour) {
    switch (colour) {
        case Colour::kGood:
            return "32";
        case Colour::kWarning:
            return "33";
        case Colour::kBad:
            return "31";
        case Colour::kHeading:
            return "1";
        case Colour::kFaint:
            return "2";
    }
    return "0";
}

}  // namespace

std::string printable(std::string text) {
    for (char& letter : text)
        if (letter < ' ' || letter > '~') letter = '?';
    return text;
}

bool has_colours(std::FILE* stream) {
    const char* unwanted = std::getenv("NO_COLOR");
    return is_terminal(stream) && !(unwanted && *unwanted);
}

std::string coloured(std::FILE* stream, Colour colour, const std::string& text) {
    if (!has_colours(stream)) return text;
    return std::string("\x1b[") + rendition(colour) + "m" + text + "\x1b[0m";
}

void Progress::show(const std::string& what) {
    if (!is_terminal(stderr)) return;
    std::fprintf(stderr, "\r\x1b[K%s", what.c_str());
    std::fflush(stderr);
    shown_ = true;
}

void Progress::clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
}

}  // namespace tools
