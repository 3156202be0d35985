// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Colours and progress, shown only to a person at a terminal.
#pragma once

#include <cstdio>
#include <string>

namespace tools {

enum class Colour { kGood, kWarning, kBad, kHeading, kFaint };

/// @return whether text written to `stream` may be coloured: it is a terminal that is not dumb, and
/// NO_COLOR is not set (no-color.org).
bool has_colours(std::FILE* stream);

/// @return `text`, in colour if has_colours(stream).
std::string coloured(std::FILE* stream, Colour colour, const std::string& text);

/// @return text from another process or a file, made safe for a terminal: '?' replaces what is not
/// printable ASCII.
std::string printable(std::string text);

/// A line on stderr that the next one overwrites, and that is removed with the object; shows
/// nothing when stderr is not a terminal.
class Progress {
  public:
    Progress() = default;
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const std::string& what);
    /// Called before anything else is printed.
    void clear();

  private:
    bool shown_ = false;
};

}  // namespace tools
