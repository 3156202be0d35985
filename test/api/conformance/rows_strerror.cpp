// SPDX-License-Identifier: BSD-2-Clause
// dat_strerror: every type and every subtype.
#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace conformance {
namespace {

const char kUntouched[] = "untouched";

/// Writes the code and both texts.
void tell(Rig& r, DAT_RETURN code) {
    const char* major = kUntouched;
    const char* minor = kUntouched;
    r << dat_strerror(code, &major, &minor) << major << (*minor ? minor : "empty");
}

Row types(const char* name, DAT_UINT32 first, DAT_UINT32 last, const char* answer) {
    return {name, answer, [first, last](Rig& r) {
                for (DAT_UINT32 type = first; type <= last; ++type) {
                    const char* major = kUntouched;
                    const char* minor = kUntouched;
                    if (const DAT_RETURN code = dat_strerror(type << 16, &major, &minor)) r << code;
                    r << major;
                }
            }};
}

Row subtypes(const char* name, DAT_UINT32 first, DAT_UINT32 last, const char* answer) {
    return {name, answer, [first, last](Rig& r) {
                for (DAT_UINT32 subtype = first; subtype <= last; ++subtype) {
                    const char* major = kUntouched;
                    const char* minor = kUntouched;
                    if (const DAT_RETURN code =
                            dat_strerror(DAT_INVALID_STATE | subtype, &major, &minor))
                        r << code;
                    r << minor;
                }
            }};
}

}  // namespace

Rows strerror_rows() {
    return {
        types("dat_strerror/types-0x00-to-0x06", 0, 6,
              "DAT_SUCCESS DAT_ABORT DAT_CONN_QUAL_IN_USE DAT_INSUFFICIENT_RESOURCES "
              "DAT_INTERNAL_ERROR DAT_INVALID_HANDLE DAT_INVALID_PARAMETER"),
        types("dat_strerror/types-0x07-to-0x0d", 7, 13,
              "DAT_INVALID_STATE DAT_LENGTH_ERROR DAT_MODEL_NOT_SUPPORTED DAT_PROVIDER_NOT_FOUND "
              "DAT_PRIVILEGES_VIOLATION DAT_PROTECTION_VIOLATION DAT_QUEUE_EMPTY"),
        types("dat_strerror/types-0x0e-to-0x13", 14, 19,
              "DAT_QUEUE_FULL DAT_TIMEOUT_EXPIRED DAT_PROVIDER_ALREADY_REGISTERED "
              "DAT_PROVIDER_IN_USE DAT_INVALID_ADDRESS DAT_INTERRUPTED_CALL"),
        types("dat_strerror/types-0x14-to-0x17", 20, 23,
              "DAT_CONN_QUAL_UNAVAILABLE DAT_RESERVED_LMR DAT_PORT_IN_USE DAT_COMM_NOT_SUPPORTED"),
        subtypes("dat_strerror/subtypes-1-to-10", 1, 10,
                 "DAT_SUB_INTERRUPTED DAT_RESOURCE_MEMORY DAT_RESOURCE_DEVICE DAT_RESOURCE_TEP "
                 "DAT_RESOURCE_TEVD DAT_RESOURCE_PROTECTION_DOMAIN DAT_RESOURCE_MEMORY_REGION "
                 "DAT_RESOURCE_ERROR_HANDLER DAT_RESOURCE_CREDITS DAT_RESOURCE_SRQ"),
        subtypes("dat_strerror/subtypes-11-to-26", 11, 26,
                 "DAT_INVALID_HANDLE_IA DAT_INVALID_HANDLE_EP DAT_INVALID_HANDLE_LMR "
                 "DAT_INVALID_HANDLE_RMR DAT_INVALID_HANDLE_PZ DAT_INVALID_HANDLE_PSP "
                 "DAT_INVALID_HANDLE_RSP DAT_INVALID_HANDLE_CR DAT_INVALID_HANDLE_CNO "
                 "DAT_INVALID_HANDLE_EVD_CR DAT_INVALID_HANDLE_EVD_REQUEST "
                 "DAT_INVALID_HANDLE_EVD_RECV DAT_INVALID_HANDLE_EVD_CONN "
                 "DAT_INVALID_HANDLE_EVD_ASYNC DAT_INVALID_HANDLE_SRQ DAT_INVALID_HANDLE_CSP"),
        subtypes("dat_strerror/subtypes-27-to-36", 27, 36,
                 "DAT_INVALID_HANDLE1 DAT_INVALID_HANDLE2 DAT_INVALID_HANDLE3 DAT_INVALID_HANDLE4 "
                 "DAT_INVALID_HANDLE5 DAT_INVALID_HANDLE6 DAT_INVALID_HANDLE7 DAT_INVALID_HANDLE8 "
                 "DAT_INVALID_HANDLE9 DAT_INVALID_HANDLE10"),
        subtypes("dat_strerror/subtypes-37-to-46", 37, 46,
                 "DAT_INVALID_ARG1 DAT_INVALID_ARG2 DAT_INVALID_ARG3 DAT_INVALID_ARG4 "
                 "DAT_INVALID_ARG5 DAT_INVALID_ARG6 DAT_INVALID_ARG7 DAT_INVALID_ARG8 "
                 "DAT_INVALID_ARG9 DAT_INVALID_ARG10"),
        subtypes("dat_strerror/subtypes-47-to-56", 47, 56,
                 "DAT_INVALID_STATE_EP_UNCONNECTED DAT_INVALID_STATE_EP_ACTCONNPENDING "
                 "DAT_INVALID_STATE_EP_PASSCONNPENDING DAT_INVALID_STATE_EP_TENTCONNPENDING "
                 "DAT_INVALID_STATE_EP_CONNECTED DAT_INVALID_STATE_EP_DISCONNECTED "
                 "DAT_INVALID_STATE_EP_RESERVED DAT_INVALID_STATE_EP_COMPLPENDING "
                 "DAT_INVALID_STATE_EP_DISCPENDING DAT_INVALID_STATE_EP_PROVIDERCONTROL"),
        subtypes("dat_strerror/subtypes-57-to-60", 57, 60,
                 "DAT_INVALID_STATE_EP_NOTREADY DAT_INVALID_STATE_EP_RECV_WATERMARK "
                 "DAT_INVALID_STATE_EP_PZ DAT_INVALID_STATE_EP_EVD_REQUEST"),
        subtypes("dat_strerror/subtype-61", 61, 61, "DAT_INVALID_STATE_EP_EVD_RECV"),
        subtypes("dat_strerror/subtypes-62-to-66", 62, 66,
                 "DAT_INVALID_STATE_EP_EVD_CONNECT DAT_INVALID_STATE_EP_UNCONFIGURED "
                 "DAT_INVALID_STATE_EP_UNCONFRESERVED DAT_INVALID_STATE_EP_UNCONFPASSIVE "
                 "DAT_INVALID_STATE_EP_UNCONFTENTATIVE"),
        subtypes(
            "dat_strerror/subtypes-67-to-84", 67, 84,
            "DAT_INVALID_STATE_CNO_IN_USE DAT_INVALID_STATE_CNO_DEAD DAT_INVALID_STATE_EVD_OPEN "
            "DAT_INVALID_STATE_EVD_ENABLED DAT_INVALID_STATE_EVD_DISABLED "
            "DAT_INVALID_STATE_EVD_WAITABLE DAT_INVALID_STATE_EVD_UNWAITABLE "
            "DAT_INVALID_STATE_EVD_IN_USE DAT_INVALID_STATE_EVD_CONFIG_NOTIFY "
            "DAT_INVALID_STATE_EVD_CONFIG_SOLICITED DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD "
            "DAT_INVALID_STATE_EVD_WAITER DAT_INVALID_STATE_EVD_ASYNC DAT_INVALID_STATE_IA_IN_USE "
            "DAT_INVALID_STATE_LMR_IN_USE DAT_INVALID_STATE_LMR_FREE DAT_INVALID_STATE_PZ_IN_USE "
            "DAT_INVALID_STATE_PZ_FREE"),
        subtypes("dat_strerror/subtypes-85-to-88", 85, 88,
                 "DAT_INVALID_STATE_SRQ_OPERATIONAL DAT_INVALID_STATE_SRQ_ERROR "
                 "DAT_INVALID_STATE_SRQ_IN_USE DAT_INVALID_STATE_SRQ_SHUTDOWN"),
        subtypes(
            "dat_strerror/subtypes-89-to-103", 89, 103,
            "DAT_PRIVILEGES_READ DAT_PRIVILEGES_WRITE DAT_PRIVILEGES_RDMA_READ "
            "DAT_PRIVILEGES_RDMA_WRITE DAT_PROTECTION_READ DAT_PROTECTION_WRITE "
            "DAT_PROTECTION_RDMA_READ DAT_PROTECTION_RDMA_WRITE DAT_INVALID_ADDRESS_UNSUPPORTED "
            "DAT_INVALID_ADDRESS_UNREACHABLE DAT_INVALID_ADDRESS_MALFORMED DAT_NAME_NOT_REGISTERED "
            "DAT_MAJOR_NOT_FOUND DAT_MINOR_NOT_FOUND DAT_THREAD_SAFETY_NOT_FOUND"),
        {"dat_strerror/not-implemented", "0 DAT_NOT_IMPLEMENTED empty",
         [](Rig& r) { tell(r, DAT_NOT_IMPLEMENTED); }},
        {"dat_strerror/class-bits-do-not-matter",
         "0 DAT_INVALID_STATE DAT_INVALID_STATE_EP_CONNECTED 0 DAT_INVALID_STATE "
         "DAT_INVALID_STATE_EP_CONNECTED",
         [](Rig& r) {
             for (const DAT_RETURN bits : {0x80000000u, 0x40000000u})
                 tell(r, bits | DAT_INVALID_STATE | DAT_INVALID_STATE_EP_CONNECTED);
         }},
        {"dat_strerror/subtype-0", "0 DAT_INVALID_STATE empty",
         [](Rig& r) { tell(r, DAT_INVALID_STATE); }},
        {"dat_strerror/unknown-type", "0x00060000 unknown error",
         [](Rig& r) {
             const char* major = kUntouched;
             r << dat_strerror(0x00180000, &major, nullptr) << major;
         }},
        {"dat_strerror/unknown-type-minor", "empty",
         [](Rig& r) {
             const char* major = kUntouched;
             const char* minor = kUntouched;
             dat_strerror(0x00180000, &major, &minor);
             r << (*minor ? minor : "empty");
         }},
        {"dat_strerror/unknown-subtype", "0x00060000 DAT_INVALID_STATE unknown minor error",
         [](Rig& r) { tell(r, DAT_INVALID_STATE | 104); }},
        {"dat_strerror/minor-null", "0 DAT_QUEUE_EMPTY",
         [](Rig& r) {
             const char* major = kUntouched;
             r << dat_strerror(DAT_QUEUE_EMPTY, &major, nullptr) << major;
         }},
        {"dat_strerror/major-null", "0x80060026",
         [](Rig& r) {
             const char* minor = kUntouched;
             r << dat_strerror(DAT_QUEUE_EMPTY, nullptr, &minor);
         }},
    };
}

}  // namespace conformance
