// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Colours and progress, which only a person at a terminal is to see.
#pragma once

#include <cstdio>
#include <string>

namespace tools {

enum class Colour { kGood, kWarning, kBad, kHeading, kFaint };

/// Whether text written to `stream` may be coloured: a terminal that is not dumb, and NO_COLOR is
/// not set (no-color.org).
bool has_colours(std::FILE* stream);

/// @return `text`, in colour where `stream` has_colours().
std::string coloured(std::FILE* stream, Colour colour, const std::string& text);

/// What another process or a file has said, for a terminal that must not obey it: '?' for what is
/// not printable ASCII.
std::string printable(std::string text);

/// A line on stderr that is written over by the next one, and gone when the object is; nothing
/// where stderr is no terminal.
class Progress {
  public:
    Progress() = default;
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const std::string& what);
    /// To be called before anything else is printed.
    void clear();

  private:
    bool shown_ = false;
};

}  // namespace tools
