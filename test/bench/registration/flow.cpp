// SPDX-License-Identifier: BSD-2-Clause
#include "test/bench/registration/flow.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

namespace registration {
namespace {

void set(const char* name, const std::string& value) {
    setenv((std::string("OPENDAT_REGISTRATION") + name).c_str(), value.c_str(), 1);
}

std::uint8_t* pages(std::size_t bytes) {
    void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::uint8_t*>(made);
}

/// Fills a region with a pattern that differs between regions and between processes.
void fill(std::uint8_t* memory, std::size_t bytes, int self, int region) {
    std::memset(memory, (self * 97 + region * 13) % 251 + 1, bytes);
    std::memcpy(memory, &region, sizeof region);
}

}  // namespace

std::uint64_t cpu_time() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto ns = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
               static_cast<std::uint64_t>(time.tv_usec) * kMicrosecond;
    };
    return ns(used.ru_utime) + ns(used.ru_stime);
}

void Settings::apply() const {
    set("S", mode);
    set("_DIRECTORY", directory);
    set("_POLICY", policy);
    set("_ENTRIES", std::to_string(entries));
    set("_GRACE", std::to_string(grace_us));
    set("_WAIT", std::to_string(wait_ms));
    set("_LOW", std::to_string(low));
    set("_HIGH", std::to_string(high));
    set("_BRACKETS", brackets);
}

test::Window expose(const test::Side& side, void* memory, std::size_t bytes) {
    DAT_REGION_DESCRIPTION region{};
    region.for_va = memory;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local = 0;
    DAT_RMR_CONTEXT remote = 0;
    test::succeed(
        dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, bytes, side.pz, DAT_MEM_PRIV_ALL_FLAG,
                       DAT_VA_TYPE_VA, &lmr, &local, &remote, nullptr, nullptr),
        "dat_lmr_create");
    return {reinterpret_cast<DAT_VADDR>(memory), remote};
}

Sink::Sink(int writers, std::size_t bytes) : bytes_(bytes) {
    memory_ = pages(bytes * static_cast<std::size_t>(writers));
    child_ = std::make_unique<test::Child>(
        [this, writers](test::Channel& channel) { serve(channel, writers); });
    for (int i = 0; i < writers; ++i) windows_.push_back(child_->channel().receive<test::Window>());
}

void Sink::serve(test::Channel& channel, int writers) const {
    unsetenv("OPENDAT_REGISTRATIONS");
    const test::Side side;
    const test::Window all = expose(side, memory_, bytes_ * static_cast<std::size_t>(writers));
    for (int i = 0; i < writers; ++i) side.listen(qualifier(i));
    for (int i = 0; i < writers; ++i)
        channel.send(test::Window{reinterpret_cast<DAT_VADDR>(memory(i)), all.key});
    for (int i = 0; i < writers; ++i) side.accept_next();
    channel.receive_whenever<char>();
}

test::Window Sink::window(int writer) {
    return windows_[static_cast<std::size_t>(writer)];
}

void Sink::end() {
    child_->channel().send('e');
    test::require(child_->wait() == 0, "the sink ends well");
}

Writer::Writer(Sink& sink, int self, int regions, std::size_t bytes)
    : lmrs_(static_cast<std::size_t>(regions), DAT_HANDLE_NULL),
      sink_(sink),
      self_(self),
      bytes_(bytes),
      all_bytes_(bytes * static_cast<std::size_t>(regions)),
      keys_(static_cast<std::size_t>(regions)),
      window_(sink.window(self)) {
    memory_ = static_cast<std::uint8_t*>(
        mmap(nullptr, all_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    for (int region = 0; region < regions; ++region) fill(memory(region), bytes_, self_, region);
    ep_ = side.endpoint();
    DAT_EP_PARAM made{};
    test::succeed(dat_ep_query(ep_, DAT_EP_FIELD_ALL, &made), "dat_ep_query");
    made.ep_attr.max_request_dtos = kMostOutstanding;
    test::succeed(dat_ep_modify(ep_, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &made),
                  "dat_ep_modify");
    test::succeed(test::Side::connect(ep_, Sink::qualifier(self)), "dat_ep_connect");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep_);
}

Writer::~Writer() {
    side.close();
    munmap(memory_, all_bytes_);
}

DAT_RETURN Writer::create(int region) {
    DAT_REGION_DESCRIPTION where{};
    where.for_va = memory(region);
    DAT_RMR_CONTEXT remote = 0;
    DAT_VLEN size = 0;
    DAT_VADDR address = 0;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    const DAT_RETURN code = dat_lmr_create(
        side.ia, DAT_MEM_TYPE_VIRTUAL, where, bytes_, side.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
        DAT_VA_TYPE_VA, &lmr, &keys_[static_cast<std::size_t>(region)], &remote, &size, &address);
    if (code == DAT_SUCCESS) lmrs_[static_cast<std::size_t>(region)] = lmr;
    return code;
}

DAT_RETURN Writer::create_wait(int region, DAT_TIMEOUT timeout, DAT_REG_CLASS kind) {
    DAT_REG_LMR_PARAM param{};
    param.mem_type = DAT_MEM_TYPE_VIRTUAL;
    param.region_desc.for_va = memory(region);
    param.length = bytes_;
    param.pz_handle = side.pz;
    param.mem_priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;
    param.va_type = DAT_VA_TYPE_VA;
    param.reg_class = kind;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    const DAT_RETURN code = dat_reg_lmr_create_wait(
        side.ia, &param, timeout, &lmr, &keys_[static_cast<std::size_t>(region)], nullptr);
    if (code == DAT_SUCCESS) lmrs_[static_cast<std::size_t>(region)] = lmr;
    return code;
}

void Writer::free(int region) {
    test::succeed(dat_lmr_free(lmrs_[static_cast<std::size_t>(region)]), "dat_lmr_free");
    lmrs_[static_cast<std::size_t>(region)] = DAT_HANDLE_NULL;
}

DAT_RETURN Writer::post(int region) {
    DAT_LMR_TRIPLET from{};
    from.virtual_address = reinterpret_cast<DAT_VADDR>(memory(region));
    from.segment_length = static_cast<DAT_SEG_LENGTH>(bytes_);
    from.lmr_context = keys_[static_cast<std::size_t>(region)];
    DAT_RMR_TRIPLET to = window_.part(bytes_);
    const DAT_RETURN code = dat_ep_post_rdma_write(ep_, 1, &from, test::cookie(posted_ + 1), &to,
                                                   DAT_COMPLETION_DEFAULT_FLAG);
    posted_ += code == DAT_SUCCESS;
    return code;
}

bool Writer::reap() {
    const DAT_EVENT event = test::Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    const auto& done = event.event_data.dto_completion_event_data;
    test::require(done.user_cookie.as_64 == ++reaped_, "the completion is the oldest one's");
    return done.status == DAT_DTO_SUCCESS;
}

bool Writer::write(int region, DAT_RETURN& code) {
    code = post(region);
    return code == DAT_SUCCESS && reap();
}

bool Writer::arrived(int region) const {
    return std::memcmp(sink_.memory(self_), memory(region), bytes_) == 0;
}

}  // namespace registration
