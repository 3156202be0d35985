// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The catalogue of all messages that the libraries report to their users. A message that is not
/// here is not printed.
#pragma once

#include <string_view>

namespace support {

/// Trace levels run from 0 to 10; a message is printed when the level in force is at least its own.
enum class Level : int {
    kError = 1,    ///< the call fails
    kWarning = 2,  ///< unexpected, but the call continues
    kInfo = 3,     ///< once per process or device
    kDebug = 5,    ///< number of lines proportional to objects and connections
    kTrace = 7,    ///< number of lines proportional to calls
};

struct Message {
    const char* id;  ///< stable, for users to search for
    Level level;
    const char* text;       ///< fmt format: cause and evidence, lower case
    const char* next_step;  ///< what the user should do now; "" when there is nothing to do
};

#define MESSAGE(name, id, level, text, next_step) \
    inline constexpr Message name{id, Level::level, text, next_step};
#include "support/base/messages.def"
#undef MESSAGE

inline constexpr const Message* kMessages[] = {
#define MESSAGE(name, id, level, text, next_step) &name,
#include "support/base/messages.def"
#undef MESSAGE
};

/// Compares the texts: addresses are no constants in builds with UndefinedBehaviorSanitizer.
constexpr bool is_in_catalogue(const Message& message) {
    for (const Message* known : kMessages)
        if (std::string_view(known->id) == message.id &&
            std::string_view(known->text) == message.text)
            return true;
    return false;
}

}  // namespace support
