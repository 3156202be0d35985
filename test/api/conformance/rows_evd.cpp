// SPDX-License-Identifier: BSD-2-Clause
// EVDs: creation, attributes, states, software events, overflow, length.
#include "test/api/conformance/row.hpp"
#include "test/api/conformance/states.hpp"

namespace conformance {
namespace {

DAT_EVD_HANDLE evd;

DAT_RETURN create(Rig& r, int flags, DAT_COUNT length = 8, DAT_CNO_HANDLE cno = DAT_HANDLE_NULL) {
    return dat_evd_create(r.ia(), length, cno, static_cast<DAT_EVD_FLAGS>(flags), &evd);
}

DAT_EVD_PARAM query(DAT_EVD_HANDLE asked = evd) {
    DAT_EVD_PARAM parameters{};
    succeed(dat_evd_query(asked, DAT_EVD_FIELD_ALL, &parameters), "dat_evd_query");
    return parameters;
}

struct Stream {
    const char* name;
    int flag;
};
constexpr Stream kStreams[] = {{"software", 1},      {"cr", 0x10},       {"dto", 0x20},
                               {"connection", 0x40}, {"rmr-bind", 0x80}, {"async", 0x100},
                               {"extension", 0x200}};

bool may_merge(int flags) {
    if (flags & 0x100) return false;
    return (flags & 0x60) != 0x60;
}

Rows merging_rows() {
    Rows rows;
    for (const Stream& one : kStreams)
        for (const Stream& other : kStreams) {
            if (other.flag < one.flag) continue;
            const int flags = one.flag | other.flag;
            const std::string name =
                one.flag == other.flag ? one.name : std::string(one.name) + "-and-" + other.name;
            rows.push_back({"dat_evd_create/" + name, may_merge(flags) ? "0" : "0x80060028",
                            [flags](Rig& r) { r << create(r, flags); }});
        }
    for (const int flags : {0, 2, 0x400, 0x51, 0xd1, 0xb1, 0x2b1})
        rows.push_back({"dat_evd_create/flags-" + std::to_string(flags), "0",
                        [flags](Rig& r) { r << create(r, flags); }});
    for (const int flags : {0x71, 0x1f0})
        rows.push_back({"dat_evd_create/flags-" + std::to_string(flags), "0x80060028",
                        [flags](Rig& r) { r << create(r, flags); }});
    return rows;
}

Rows create_rows() {
    return {
        {"dat_evd_create/length-0", "0x80060026 0x80060026",
         [](Rig& r) {
             r << create(r, DAT_EVD_SOFTWARE_FLAG, 0) << create(r, DAT_EVD_DTO_FLAG, 0);
         }},
        {"dat_evd_create/length-negative", "0x80060026",
         [](Rig& r) { r << create(r, DAT_EVD_SOFTWARE_FLAG, -1); }},
        {"dat_evd_create/length-above-the-adapter", "0x80030005 0x80030005",
         [](Rig& r) {
             DAT_IA_ATTR adapter{};
             succeed(dat_ia_query(r.ia(), nullptr, DAT_IA_FIELD_ALL, &adapter, 0, nullptr),
                     "dat_ia_query");
             r << create(r, DAT_EVD_SOFTWARE_FLAG, adapter.max_evd_qlen + 1)
               << create(r, DAT_EVD_DTO_FLAG, adapter.max_evd_qlen + 1);
         }},
        {"dat_evd_create/software-length-as-asked", "0 5",
         [](Rig& r) { r << create(r, DAT_EVD_SOFTWARE_FLAG, 5) << query().evd_qlen; }},
        {"dat_evd_create/completion-length-at-least-as-asked", "0 yes",
         [](Rig& r) { r << create(r, DAT_EVD_DTO_FLAG, 5) << (query().evd_qlen >= 5); }},
        {"dat_evd_create/cno-of-another-kind", "0x80050013",
         [](Rig& r) { r << create(r, DAT_EVD_DTO_FLAG, 8, r.other_kind()); }},
        {"dat_evd_create/with-cno", "0 yes",
         [](Rig& r) {
             const DAT_CNO_HANDLE cno = r.cno();
             r << create(r, DAT_EVD_DTO_FLAG, 8, cno) << (query().cno_handle == cno);
         }},
        {"dat_evd_create/out-null", "0x80060029",
         [](Rig& r) {
             r << dat_evd_create(r.ia(), 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, nullptr);
         }},
        {"dat_evd_query/all", "yes 8 5 1 yes",
         [](Rig& r) {
             succeed(create(r, DAT_EVD_SOFTWARE_FLAG), "dat_evd_create");
             const DAT_EVD_PARAM p = query();
             r << (p.ia_handle == r.ia()) << p.evd_qlen << static_cast<DAT_COUNT>(p.evd_state)
               << static_cast<DAT_COUNT>(p.evd_flags) << (p.cno_handle == DAT_HANDLE_NULL);
         }},
        {"dat_evd_query/mask-0-fills-all", "0 8",
         [](Rig& r) {
             DAT_EVD_PARAM p{};
             succeed(create(r, DAT_EVD_SOFTWARE_FLAG), "dat_evd_create");
             r << dat_evd_query(evd, static_cast<DAT_EVD_PARAM_MASK>(0), &p) << p.evd_qlen;
         }},
        {"dat_evd_query/out-null", "0x80060027",
         [](Rig& r) { r << dat_evd_query(r.side().sends, DAT_EVD_FIELD_ALL, nullptr); }},
        {"dat_evd_free/unused", "0",
         [](Rig& r) { r << dat_evd_free(r.evd(DAT_EVD_SOFTWARE_FLAG)); }},
        {"dat_evd_free/in-use-by-an-ep", "0x8007004A",
         [](Rig& r) {
             r.endpoint();
             r << dat_evd_free(r.side().receives);
         }},
        {"dat_evd_free/in-use-by-a-psp", "0x8007004A",
         [](Rig& r) {
             r.side().listen(kQualifier);
             r << dat_evd_free(r.side().requests);
         }},
        {"dat_evd_free/in-use-by-an-rsp", "0x8007004A",
         [](Rig& r) {
             reserved(r);
             r << dat_evd_free(r.side().requests);
         }},
        {"dat_evd_free/async-evd-of-the-adapter", "0x8007004A",
         [](Rig& r) { r << dat_evd_free(r.side().async); }},
    };
}

using Change = DAT_RETURN DAT_API(DAT_EVD_HANDLE);

/// A row that makes the call twice and then queries the state.
Row twice(const char* name, const char* answer, Change* call, Change* before = nullptr) {
    return {name, answer, [call, before](Rig& r) {
                evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
                if (before) succeed(before(evd), "the call before");
                r << call(evd) << call(evd) << static_cast<DAT_COUNT>(query().evd_state);
            }};
}

DAT_RETURN post(DAT_EVD_HANDLE to, std::uintptr_t pointer = 1) {
    DAT_EVENT event{};
    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = reinterpret_cast<DAT_PVOID>(pointer);
    return dat_evd_post_se(to, &event);
}

DAT_RETURN post_number(DAT_EVD_HANDLE to, int number) {
    DAT_EVENT event{};
    event.event_number = static_cast<DAT_EVENT_NUMBER>(number);
    return dat_evd_post_se(to, &event);
}

DAT_RETURN take(DAT_EVD_HANDLE from) {
    DAT_EVENT event{};
    return dat_evd_dequeue(from, &event);
}

Rows state_rows() {
    return {
        twice("dat_evd_disable/twice", "0 0 6", dat_evd_disable),
        twice("dat_evd_enable/twice", "0 0 5", dat_evd_enable, dat_evd_disable),
        twice("dat_evd_set_unwaitable/twice", "0 0 9", dat_evd_set_unwaitable),
        twice("dat_evd_clear_unwaitable/twice", "0 0 5", dat_evd_clear_unwaitable,
              dat_evd_set_unwaitable),
        {"dat_evd_disable/wait-and-dequeue-go-on", "0 0 0 SOFTWARE 0",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             r << dat_evd_disable(evd) << post(evd) << post(evd);
             r.event(evd);
             r << take(evd);
         }},
        {"dat_evd_set_unwaitable/wait-is-refused-dequeue-is-not", "0 0 0x80070049 0 0x800D0000",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             DAT_EVENT event{};
             DAT_COUNT more = 0;
             r << dat_evd_set_unwaitable(evd) << post(evd) << dat_evd_wait(evd, 0, 1, &event, &more)
               << take(evd) << take(evd);
         }},
        {"dat_evd_clear_unwaitable/wait-is-possible-again", "0 SOFTWARE",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             succeed(dat_evd_set_unwaitable(evd), "dat_evd_set_unwaitable");
             succeed(post(evd), "dat_evd_post_se");
             r << dat_evd_clear_unwaitable(evd);
             r.event(evd);
         }},
    };
}

Rows software_rows() {
    return {
        {"dat_evd_post_se/pointer", "0 SOFTWARE yes yes",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             r << post(evd, 77);
             const DAT_EVENT event = r.event(evd);
             r << (event.evd_handle == evd)
               << (event.event_data.software_event_data.pointer == reinterpret_cast<void*>(77));
         }},
        {"dat_evd_post_se/in-order", "1 2 3",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             for (const std::uintptr_t i : {1u, 2u, 3u}) succeed(post(evd, i), "dat_evd_post_se");
             DAT_EVENT event{};
             while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
                 r << static_cast<DAT_COUNT>(reinterpret_cast<std::uintptr_t>(
                     event.event_data.software_event_data.pointer));
         }},
        {"dat_evd_post_se/evd-without-the-flag", "0x80060025",
         [](Rig& r) { r << post(r.side().sends); }},
        {"dat_evd_post_se/event-null", "0x80060026",
         [](Rig& r) { r << dat_evd_post_se(r.evd(DAT_EVD_SOFTWARE_FLAG), nullptr); }},
        {"dat_evd_post_se/another-event-number", "0x80060026 0x80060026",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             r << post_number(evd, 0) << post_number(evd, DAT_DTO_COMPLETION_EVENT);
         }},
        {"dat_evd_post_se/full-after-its-length", "4 0x800E0000",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG, 4);
             DAT_COUNT taken = 0;
             DAT_RETURN code;
             while ((code = post(evd)) == DAT_SUCCESS) ++taken;
             r << taken << code;
         }},
        {"dat_evd_post_se/each-refused-one-is-an-async-event",
         "0x800E0000 ASYNC_EVD_OVERFLOW 0x800E0000 ASYNC_EVD_OVERFLOW 0x800D0000",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG, 1);
             succeed(post(evd), "dat_evd_post_se");
             for (int i = 0; i < 2; ++i) {
                 r << post(evd);
                 r.event(r.side().async);
             }
             r << take(r.side().async);
         }},
        {"dat_evd_post_se/overflow-names-the-evd", "yes",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG, 1);
             for (int i = 0; i < 2; ++i) post(evd);
             const DAT_EVENT event = Side::wait(r.side().async, DAT_ASYNC_ERROR_EVD_OVERFLOW);
             r << (event.event_data.asynch_error_event_data.dat_handle == evd);
         }},
        {"dat_evd_post_se/stored-ones-stay-good", "0 0 0x800E0000 0 0 0x800D0000 0",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG, 2);
             for (int i = 0; i < 3; ++i) r << post(evd);
             for (int i = 0; i < 3; ++i) r << take(evd);
             r << post(evd);
         }},
        {"dat_evd_post_se/overflow-of-the-async-evd", "0 0",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG, 1);
             for (int i = 0; i < 12; ++i) post(evd);
             DAT_EVENT event{};
             DAT_COUNT more = 0;
             r << dat_evd_wait(r.side().async, 0, 1, &event, &more) << take(r.side().async);
         }},
    };
}

constexpr const char* kResize = "it damages memory, or hangs in the call";

Rows resize_rows() {
    return {
        {"dat_evd_resize/same", "0 8",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             r << dat_evd_resize(evd, 8) << query().evd_qlen;
         }},
        {"dat_evd_resize/above-the-adapter", "0x80060026",
         [](Rig& r) { r << dat_evd_resize(r.evd(DAT_EVD_SOFTWARE_FLAG), 1 << 30); }},
        {"dat_evd_resize/negative", "0x80070000",
         [](Rig& r) { r << dat_evd_resize(r.evd(DAT_EVD_SOFTWARE_FLAG), -1); }},
        {"dat_evd_resize/0", "0x80030002",
         [](Rig& r) { r << dat_evd_resize(r.evd(DAT_EVD_SOFTWARE_FLAG), 0); }, kResize},
        {"dat_evd_resize/fewer-than-are-pending", "0x80070000",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             for (int i = 0; i < 3; ++i) succeed(post(evd), "dat_evd_post_se");
             r << dat_evd_resize(evd, 2);
         }},
        {"dat_evd_resize/larger", "0 30 30 0x800E0000",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             r << dat_evd_resize(evd, 30) << query().evd_qlen;
             DAT_COUNT taken = 0;
             DAT_RETURN code;
             while ((code = post(evd)) == DAT_SUCCESS) ++taken;
             r << taken << code;
         },
         kResize},
        {"dat_evd_resize/larger-keeps-what-is-pending", "0 0 0 0x800D0000",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG, 2);
             for (int i = 0; i < 2; ++i) succeed(post(evd), "dat_evd_post_se");
             r << dat_evd_resize(evd, 100);
             for (int i = 0; i < 3; ++i) r << take(evd);
         },
         kResize},
        {"dat_evd_resize/of-completions", "0 yes",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_DTO_FLAG);
             const DAT_COUNT twice = 2 * query().evd_qlen;
             r << dat_evd_resize(evd, twice) << (query().evd_qlen >= twice);
         },
         kResize},
        {"dat_evd_resize/smaller", "0 4",
         [](Rig& r) {
             evd = r.evd(DAT_EVD_SOFTWARE_FLAG);
             r << dat_evd_resize(evd, 4) << query().evd_qlen;
         }},
    };
}

}  // namespace

Rows evd_rows() {
    Rows rows = merging_rows();
    for (const Rows& more : {create_rows(), state_rows(), software_rows(), resize_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

}  // namespace conformance
