// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A side for tests whose adapter instance is opened with the registration broker.
#pragma once

#include <dat2/dat_reg_extensions.h>

#include <string>
#include <vector>

#include "test/api/side.hpp"

namespace test {

/// A fabric and a registration table of the test's own. Made before any process is forked.
class RegistrationTable {
  public:
    explicit RegistrationTable(int entries, long grace = 10000, const char* mode = "on") {
        set("OPENDAT_REGISTRATION_DIRECTORY", fabric_.path() + "/tables");
        set("OPENDAT_REGISTRATIONS", mode);
        set("OPENDAT_REGISTRATION_ENTRIES", std::to_string(entries));
        set("OPENDAT_REGISTRATION_GRACE", std::to_string(grace));
        set("OPENDAT_REGISTRATION_LOW", "0");
    }
    ~RegistrationTable() {
        for (const auto& name : set_) unsetenv(name.c_str());
    }
    RegistrationTable(const RegistrationTable&) = delete;
    RegistrationTable& operator=(const RegistrationTable&) = delete;
    /// Sets a variable for the processes that open an adapter instance afterwards.
    void set(const std::string& name, const std::string& value) {
        setenv(name.c_str(), value.c_str(), 1);
        set_.push_back(name);
    }

  private:
    TemporaryFabric fabric_;
    std::vector<std::string> set_;
};

/// A grace period of an hour, in microseconds: no test lasts so long.
inline constexpr long kNoHurry = 3600L * 1000 * 1000;

inline DAT_REG_STATISTICS statistics(const Side& side) {
    DAT_REG_STATISTICS result{};
    succeed(dat_reg_query(side.ia, &result), "dat_reg_query");
    return result;
}

/// Memory that create() or create_plainly() registers.
class Region {
  public:
    explicit Region(Side& side, std::size_t size = 4096) : bytes(size, '\0'), side_(side) {}
    ~Region() {
        if (lmr) dat_lmr_free(lmr);
    }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    DAT_REG_LMR_PARAM parameters(DAT_REG_CLASS kind, int privileges = DAT_MEM_PRIV_ALL_FLAG) {
        DAT_REG_LMR_PARAM asked{};
        asked.mem_type = DAT_MEM_TYPE_VIRTUAL;
        asked.region_desc.for_va = bytes.data();
        asked.length = bytes.size();
        asked.pz_handle = side_.pz;
        asked.mem_priv = static_cast<DAT_MEM_PRIV_FLAGS>(privileges);
        asked.va_type = DAT_VA_TYPE_VA;
        asked.reg_class = kind;
        return asked;
    }
    DAT_RETURN create(DAT_TIMEOUT timeout, DAT_REG_CLASS kind = DAT_REG_CLASS_RDMA,
                      int privileges = DAT_MEM_PRIV_ALL_FLAG) {
        const DAT_REG_LMR_PARAM asked = parameters(kind, privileges);
        const DAT_RETURN code =
            dat_reg_lmr_create_wait(side_.ia, &asked, timeout, &lmr, &local_key, &remote_key);
        // A registration that was never used is not revoked before the grace period is over.
        if (code == DAT_SUCCESS) dat_reg_lmr_touch(lmr);
        return code;
    }
    /// Registers like a program that knows nothing of the broker.
    DAT_RETURN create_plainly(int privileges = DAT_MEM_PRIV_ALL_FLAG) {
        const DAT_REG_LMR_PARAM asked = parameters(DAT_REG_CLASS_RDMA, privileges);
        DAT_VLEN size = 0;
        DAT_VADDR address = 0;
        const DAT_RETURN code = dat_lmr_create(
            side_.ia, asked.mem_type, asked.region_desc, asked.length, asked.pz_handle,
            asked.mem_priv, asked.va_type, &lmr, &local_key, &remote_key, &size, &address);
        if (code == DAT_SUCCESS) dat_reg_lmr_touch(lmr);
        return code;
    }
    void free() {
        succeed(dat_lmr_free(lmr), "dat_lmr_free");
        lmr = DAT_HANDLE_NULL;
    }
    DAT_REG_LMR_STATUS status() const {
        DAT_REG_LMR_STATUS result{};
        succeed(dat_reg_lmr_query(lmr, &result), "dat_reg_lmr_query");
        return result;
    }
    bool is_gone() const { return status().state == DAT_REG_STATE_GONE; }
    DAT_LMR_TRIPLET part(std::size_t size, std::size_t offset = 0) const {
        DAT_LMR_TRIPLET triplet{};
        triplet.virtual_address = reinterpret_cast<DAT_VADDR>(bytes.data()) + offset;
        triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
        triplet.lmr_context = local_key;
        return triplet;
    }
    Window window() const { return {reinterpret_cast<DAT_VADDR>(bytes.data()), remote_key}; }

    std::string bytes;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local_key = 0;
    DAT_RMR_CONTEXT remote_key = 0;

  private:
    Side& side_;
};

/// A side with an EVD for upcalls.
class RegistrationSide : public Side {
  public:
    RegistrationSide() {
        upcalls = evd(DAT_EVD_SOFTWARE_FLAG, 64);
        succeed(dat_reg_evd_attach(ia, upcalls), "dat_reg_evd_attach");
    }
    DAT_REG_EVENT_DATA upcall(DAT_REG_EVENT_NUMBER number) const {
        const DAT_EVENT event = wait(upcalls, static_cast<DAT_EVENT_NUMBER>(number));
        return *dat_reg_event_data(&event);
    }
    DAT_EVD_HANDLE upcalls = DAT_HANDLE_NULL;
};

/// Answers each announcement by a refusal for good, until the other process says something.
inline void refuse_all(const RegistrationSide& side, Channel& channel) {
    while (!is_readable(channel.input(), 0s)) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        if (dat_evd_wait(side.upcalls, 1000, 1, &event, &more) != DAT_SUCCESS) continue;
        if (event.event_number == static_cast<DAT_EVENT_NUMBER>(DAT_REG_ANNOUNCED_EVENT))
            dat_reg_lmr_refuse(dat_reg_event_data(&event)->lmr_handle, ~DAT_UINT64{0});
    }
    channel.receive<char>();
}

/// Requests an entry asynchronously, in place of another thread or process that waits for one.
inline DAT_REG_TICKET ask(Side& side, Region& region, DAT_REG_CLASS kind = DAT_REG_CLASS_RDMA) {
    const DAT_REG_LMR_PARAM asked = region.parameters(kind);
    DAT_REG_TICKET ticket = 0;
    succeed(dat_reg_lmr_create_async(side.ia, &asked, &region, &ticket),
            "dat_reg_lmr_create_async");
    return ticket;
}

inline DAT_DTO_COMPLETION_EVENT_DATA completion(DAT_EVD_HANDLE evd) {
    return Side::wait(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}

/// Two endpoints of one process, connected with each other.
class Loop {
  public:
    Loop(Side& side, DAT_CONN_QUAL qualifier) : side_(side) {
        side.listen(qualifier);
        sender = side.endpoint();
        receiver = side.endpoint();
        succeed(Side::connect(sender, qualifier), "dat_ep_connect");
        succeed(dat_cr_accept(side.request(), receiver, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    /// Sends `size` bytes from one region into another and checks every byte.
    void transfer(Region& from, Region& to, std::size_t size, char byte) const {
        std::fill_n(from.bytes.begin(), size, byte);
        std::fill_n(to.bytes.begin(), size, '\0');
        DAT_LMR_TRIPLET source = from.part(size), sink = to.part(size);
        succeed(dat_ep_post_recv(receiver, 1, &sink, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(dat_ep_post_send(sender, 1, &source, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
        const auto sent = completion(side_.sends), received = completion(side_.receives);
        require(sent.status == DAT_DTO_SUCCESS && sent.user_cookie.as_64 == 2, "it is sent");
        require(received.status == DAT_DTO_SUCCESS && received.user_cookie.as_64 == 1,
                "it is received");
        require(to.bytes.compare(0, size, std::string(size, byte)) == 0, "every byte is right");
    }
    DAT_EP_HANDLE sender, receiver;

  private:
    Side& side_;
};

}  // namespace test
