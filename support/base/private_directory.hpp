// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A directory that only one user can enter, in which that user's processes keep their sockets. It
/// may be in a directory that everybody can write (/tmp, /dev/shm), so its owner is checked before
/// use.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "support/base/unique_fd.hpp"

struct sockaddr_un;

namespace support {

class PrivateDirectory {
  public:
    /// Why a directory is not used.
    struct Fault {
        int error;        ///< an errno value; EACCES when it is refused
        bool refused;     ///< it exists, but somebody else may have prepared it
        std::string why;  ///< for messages
    };
    template <class T>
    using Result = tl::expected<T, Fault>;

    enum class Purpose { kFabric, kStatus };
    /// @return /dev/shm/PREFIX-USER, or /tmp/PREFIX-USER when /dev/shm cannot be used; PREFIX is
    /// "softverbs" or "opendat". Because another user may have made that, the path is the first of
    /// PREFIX-USER and PREFIX-USER-2 to -4 that the user owns, else the first that does not exist:
    /// all processes of the user find the same one. Reports once, to the user it belongs to, a path
    /// other than the first.
    static std::string default_path(Purpose purpose, uid_t user);
    /// Creates the directory with mode 0700 if it is missing. Refuses it when it is a link or not a
    /// directory, belongs to another user, or others may enter it.
    static Result<PrivateDirectory> open(const std::string& path);
    /// The same, but creates nothing: ENOENT when there is none.
    /// @param owner the user to whom it must belong.
    static Result<PrivateDirectory> open_existing(const std::string& path, uid_t owner);

    int fd() const { return fd_.get(); }
    const std::string& path() const { return path_; }
    /// Writes the address of the socket `name`, for bind() and connect(). @return 0 or an errno
    /// value.
    int address(const std::string& name, sockaddr_un& address, unsigned& length) const;
    void remove(const std::string& name) const;
    /// @return the names of all entries, in no order.
    std::vector<std::string> entries() const;

  private:
    PrivateDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    UniqueFd fd_;
    std::string path_;
};

}  // namespace support
