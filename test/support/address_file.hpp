// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Hands the address of an IA of libdaploucm to a peer: nobody knows it before the IA is open, and
/// there is no name service, so whoever listens leaves its 28 bytes in a file. Uses only the
/// installed DAT headers, for programs that run on any stack.
#pragma once

#include <arpa/inet.h>
#include <dat2/udat.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace test {

/// Leaves the IA's address in a file. A peer never finds half of it. @return false on failure.
inline bool leave_address(DAT_IA_HANDLE ia, const std::string& name) {
    DAT_IA_ATTR attributes{};
    if (dat_ia_query(ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr) != DAT_SUCCESS)
        return false;
    const std::string unfinished = name + ".new";
    std::FILE* file = std::fopen(unfinished.c_str(), "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(attributes.ia_address_ptr, sizeof(sockaddr_in6), 1, file) == 1;
    return std::fclose(file) == 0 && written && std::rename(unfinished.c_str(), name.c_str()) == 0;
}
/// @return false if nobody has left an address; `address` is all zero then.
inline bool find_address(const std::string& name, sockaddr_storage& address) {
    std::memset(&address, 0, sizeof address);
    std::FILE* file = std::fopen(name.c_str(), "rb");
    if (file == nullptr) return false;
    const bool read = std::fread(&address, sizeof(sockaddr_in6), 1, file) == 1;
    return std::fclose(file) == 0 && read;
}

/// The file for programs with one server, from the environment; nullptr if addresses are IPv4.
inline const char* address_file() {
    return std::getenv("DAT_TEST_ADDRESS_FILE");
}
/// For the server, once it can be reached. @return false on failure.
inline bool leave_address(DAT_IA_HANDLE ia) {
    return address_file() == nullptr || leave_address(ia, address_file());
}
/// For the client. @param text IPv4 address, without meaning if there is a file.
/// @return false if there is no address.
inline bool find_server(const char* text, sockaddr_storage& address) {
    if (address_file() != nullptr) return find_address(address_file(), address);
    std::memset(&address, 0, sizeof address);
    address.ss_family = AF_INET;
    return inet_pton(AF_INET, text, &reinterpret_cast<sockaddr_in&>(address).sin_addr) == 1;
}

}  // namespace test
