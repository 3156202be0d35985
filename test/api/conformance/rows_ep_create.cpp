// SPDX-License-Identifier: BSD-2-Clause
// dat_ep_create: its arguments, and each attribute.
#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

/// The arguments that rows change one by one.
struct Create {
    DAT_PZ_HANDLE pz;
    DAT_EVD_HANDLE receives, sends, connections;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    DAT_EP_ATTR attributes{};

    explicit Create(Rig& r) : pz(r.side().pz) {
        Side& side = r.side();
        receives = side.receives;
        sends = side.sends;
        connections = side.connections;
        DAT_EP_PARAM parameters{};
        succeed(dat_ep_query(side.endpoint(), DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
        attributes = parameters.ep_attr;
    }
    DAT_RETURN operator()(Rig& r, const DAT_EP_ATTR* given) {
        return dat_ep_create(r.ia(), pz, receives, sends, connections, given, &ep);
    }
    DAT_RETURN with_defaults(Rig& r) { return (*this)(r, nullptr); }
    DAT_RETURN with_attributes(Rig& r) { return (*this)(r, &attributes); }
};

/// A row that creates the EP without attributes.
Row plain(const std::string& name, const char* answer, std::function<void(Rig&, Create&)> change) {
    return {"dat_ep_create/" + name, answer, [change](Rig& r) {
                Create create(r);
                change(r, create);
                r << create.with_defaults(r);
            }};
}

/// A row that creates the EP with the default attributes as `change` modifies them.
Row changed(const std::string& name, const char* answer, std::function<void(Create&)> change) {
    return {"dat_ep_create/" + name, answer, [change](Rig& r) {
                Create create(r);
                change(create);
                r << create.with_attributes(r);
            }};
}

template <class Member, class Value>
Row attribute(const std::string& name, const char* answer, Member member, Value value) {
    return changed(name, answer, [member, value](Create& create) {
        create.attributes.*member =
            static_cast<std::decay_t<decltype(create.attributes.*member)>>(value);
    });
}

constexpr const char* kContradiction = "0x8006002A";
constexpr const char* kAboveAdapter = "0x0006002A";
constexpr DAT_COUNT kHuge = 1 << 30;

Rows argument_rows() {
    return {
        plain("all-given", "0", [](Rig&, Create&) {}),
        plain("pz-null", "0", [](Rig&, Create& c) { c.pz = nullptr; }),
        plain("receive-evd-null", "0", [](Rig&, Create& c) { c.receives = nullptr; }),
        plain("request-evd-null", "0", [](Rig&, Create& c) { c.sends = nullptr; }),
        plain("connect-evd-null", "0", [](Rig&, Create& c) { c.connections = nullptr; }),
        plain("all-evds-null", "0",
              [](Rig&, Create& c) { c.receives = c.sends = c.connections = nullptr; }),
        plain("pz-and-evds-null", "0",
              [](Rig&, Create& c) { c.pz = c.receives = c.sends = c.connections = nullptr; }),
        plain("one-evd-for-both", "0", [](Rig&, Create& c) { c.receives = c.sends; }),
        plain("pz-of-another-kind", "0x8005000F", [](Rig&, Create& c) { c.pz = c.sends; }),
        plain("connect-evd-of-another-kind", "0x80050017",
              [](Rig&, Create& c) { c.connections = c.pz; }),
        plain("connect-evd-without-the-flag", "0x80050017",
              [](Rig&, Create& c) { c.connections = c.sends; }),
        plain("receive-evd-of-another-kind", "0x80050016",
              [](Rig&, Create& c) { c.receives = c.pz; }),
        plain("receive-evd-without-the-flag", "0x80050016",
              [](Rig&, Create& c) { c.receives = c.connections; }),
        plain("request-evd-of-another-kind", "0x80050015", [](Rig&, Create& c) { c.sends = c.pz; }),
        plain("request-evd-without-the-flag", "0x80050015",
              [](Rig&, Create& c) { c.sends = c.connections; }),
        plain("evds-with-further-flags", "0",
              [](Rig& r, Create& c) {
                  c.receives = r.evd(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
                  c.connections = r.evd(DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG);
              }),
        plain("pz-before-connect-evd", "0x8005000F",
              [](Rig&, Create& c) { c.pz = c.connections = c.sends; }),
        plain("connect-evd-before-receive-evd", "0x80050017",
              [](Rig&, Create& c) { c.connections = c.receives = c.pz; }),
        plain("receive-evd-before-request-evd", "0x80050016",
              [](Rig&, Create& c) { c.receives = c.sends = c.pz; }),
        {"dat_ep_create/out-null", "0x8006002B",
         [](Rig& r) {
             Create c(r);
             r << dat_ep_create(r.ia(), c.pz, c.receives, c.sends, c.connections, nullptr, nullptr);
         }},
        {"dat_ep_create/request-evd-before-out-null", "0x80050015",
         [](Rig& r) {
             Create c(r);
             r << dat_ep_create(r.ia(), c.pz, c.receives, c.pz, c.connections, nullptr, nullptr);
         }},
        {"dat_ep_create/attributes-misaligned", kContradiction,
         [](Rig& r) {
             Create c(r);
             static char room[sizeof(DAT_EP_ATTR) + 8];
             r << c(r, reinterpret_cast<DAT_EP_ATTR*>(room + 1));
         }},
        {"dat_ep_create/out-null-before-attributes", "0x8006002B",
         [](Rig& r) {
             Create c(r);
             c.attributes.max_recv_dtos = 0;
             r << dat_ep_create(r.ia(), c.pz, c.receives, c.sends, c.connections, &c.attributes,
                                nullptr);
         }},
        {"dat_ep_create/state", "0 UNCONNECTED",
         [](Rig& r) {
             Create c(r);
             r << c.with_defaults(r);
             r.state(c.ep);
         }},
        {"dat_ep_create/keeps-its-pz", "0 0x80070053",
         [](Rig& r) {
             Create c(r);
             r << c.with_defaults(r) << dat_pz_free(c.pz);
         }},
        {"dat_ep_create/keeps-its-evds", "0 0x8007004A 0x8007004A 0x8007004A",
         [](Rig& r) {
             Create c(r);
             r << c.with_defaults(r) << dat_evd_free(c.receives) << dat_evd_free(c.sends)
               << dat_evd_free(c.connections);
         }},
    };
}

Rows contradiction_rows() {
    return {
        changed("defaults-given", "0", [](Create&) {}),
        changed("receive-evd-null-with-dtos", kContradiction,
                [](Create& c) { c.receives = nullptr; }),
        changed("receive-evd-null-without-dtos", "0",
                [](Create& c) {
                    c.receives = nullptr;
                    c.attributes.max_recv_dtos = 0;
                }),
        attribute("no-receive-dtos", kContradiction, &DAT_EP_ATTR::max_recv_dtos, 0),
        attribute("no-receive-iov", kContradiction, &DAT_EP_ATTR::max_recv_iov, 0),
        changed("request-evd-null-with-dtos", kContradiction, [](Create& c) { c.sends = nullptr; }),
        changed("request-evd-null-with-iov", kContradiction,
                [](Create& c) {
                    c.sends = nullptr;
                    c.attributes.max_request_dtos = 0;
                }),
        changed("request-evd-null-without-either", "0",
                [](Create& c) {
                    c.sends = nullptr;
                    c.attributes.max_request_dtos = 0;
                    c.attributes.max_request_iov = 0;
                }),
        attribute("no-request-dtos", kContradiction, &DAT_EP_ATTR::max_request_dtos, 0),
        attribute("no-request-iov", "0", &DAT_EP_ATTR::max_request_iov, 0),
        attribute("receive-flags-suppress", kContradiction, &DAT_EP_ATTR::recv_completion_flags,
                  DAT_COMPLETION_SUPPRESS_FLAG),
        changed("all-zero", kContradiction, [](Create& c) { c.attributes = DAT_EP_ATTR{}; }),
        changed("all-zero-without-evds", "0",
                [](Create& c) {
                    c.attributes = DAT_EP_ATTR{};
                    c.receives = c.sends = nullptr;
                }),
    };
}

Rows limit_rows() {
    return {
        attribute("receive-dtos-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_recv_dtos,
                  kHuge),
        attribute("request-dtos-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_request_dtos,
                  kHuge),
        attribute("receive-iov-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_recv_iov,
                  kHuge),
        attribute("request-iov-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_request_iov,
                  kHuge),
        attribute("reads-in-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_rdma_read_in,
                  kHuge),
        attribute("reads-out-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_rdma_read_out,
                  kHuge),
        attribute("message-size-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_message_size,
                  0xffffffffu),
        attribute("rdma-size-above-the-adapter", kAboveAdapter, &DAT_EP_ATTR::max_rdma_size,
                  0xffffffffu),
        attribute("receive-dtos-negative", "0x00060000", &DAT_EP_ATTR::max_recv_dtos, -1),
        attribute("request-dtos-negative", "0x00060000", &DAT_EP_ATTR::max_request_dtos, -1),
        attribute("message-size-0", "0", &DAT_EP_ATTR::max_message_size, 0),
        attribute("read-iov-of-any-size", "0", &DAT_EP_ATTR::max_rdma_read_iov, kHuge),
        attribute("write-iov-of-any-size", "0", &DAT_EP_ATTR::max_rdma_write_iov, kHuge),
        attribute("quality-of-service-is-not-looked-at", "0", &DAT_EP_ATTR::qos, 1),
        attribute("soft-watermark-is-not-looked-at", "0", &DAT_EP_ATTR::srq_soft_hw, 5),
        attribute("service-type-is-not-looked-at", "0", &DAT_EP_ATTR::service_type, 9),
        attribute("datagram-service", "0", &DAT_EP_ATTR::service_type, 1),
        attribute("transport-attributes-null", "0", &DAT_EP_ATTR::ep_transport_specific_count, 1),
    };
}

Rows flag_rows() {
    Rows rows;
    for (const int flags : {2, 4, 8, 0x10, 0x20, 0x40})
        rows.push_back(attribute("receive-flags-" + std::to_string(flags), "0",
                                 &DAT_EP_ATTR::recv_completion_flags, flags));
    for (const int flags : {1, 2, 4, 8, 0x10, 0x20, 0x40})
        rows.push_back(attribute("request-flags-" + std::to_string(flags), "0",
                                 &DAT_EP_ATTR::request_completion_flags, flags));
    return rows;
}

}  // namespace

Rows ep_create_rows() {
    Rows rows = argument_rows();
    for (const Rows& more : {contradiction_rows(), limit_rows(), flag_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
