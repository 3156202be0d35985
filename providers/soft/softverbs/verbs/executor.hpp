// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Carries out one request at the head of a send queue, whatever it is: checks it on both sides,
/// moves the data, and writes the completion of the receive it consumed. Its caller holds the queue
/// pair's send_lock.
#pragma once

#include "providers/soft/softverbs/arena/fault_points.hpp"
#include "providers/soft/softverbs/arena/transfer_mark.hpp"
#include "providers/soft/softverbs/verbs/agent.hpp"
#include "providers/soft/softverbs/verbs/diagnosis.hpp"
#include "providers/soft/softverbs/verbs/memory_regions.hpp"
#include "providers/soft/softverbs/verbs/payload.hpp"
#include "providers/soft/softverbs/verbs/queue_pair.hpp"

namespace softverbs {

class Executor {
  public:
    Executor(QueuePair& qp, Target& target, std::unique_ptr<AgentOperation>& agent,
             const SendWork& work) REQUIRES(qp.send_lock_)
        : qp_(qp),
          target_(target),
          agent_(agent),
          work_(work),
          is_fenced_(qp.is_fenced_),
          has_detour_(qp.longest_direct_ == 0) {}

    Outcome run();
    /// Whether the local memory may still be used: its registration may have ended, or gone away,
    /// while the agent worked.
    bool may_go_on();
    /// Concludes the request after the agent's last chunk, or earlier when it must not continue.
    /// @param status 0 or an errno. @param found value found by an atomic operation.
    Outcome conclude_agent(int status, std::uint64_t found);

  private:
    Outcome attempt();
    Outcome go();
    Outcome lose_acknowledgement();
    Outcome told(Outcome outcome) const;
    Outcome conclude(int status, std::uint64_t found);
    Outcome execute();
    Outcome send();
    Outcome write();
    Outcome read();
    Outcome atomic();

    std::uint32_t remote_key() const;
    bool ready(Outcome& otherwise);
    Outcome attempt_xrc(Outcome otherwise);
    bool ready_for_xrc(Outcome& otherwise);
    void report_other_owner() const;
    Readiness ask_when_ready(Outcome& otherwise);
    Readiness establish() const;

    /// Whether a request may use memory. Away: its owner has been asked to bring it back. Not
    /// taken: the responder's queue pair takes no requests of this kind.
    enum class Permission { kGranted, kRefused, kAway, kNotTaken };
    Permission plan_local(std::uint32_t access);
    CheckedRange check_local(const Segment& segment, std::uint32_t access) const;
    static Outcome without_local(Permission permission);
    Outcome without_remote(Permission permission, bool takes_receive);
    bool ask_own_process(std::uint32_t key) const;
    Permission plan_remote(std::uint32_t access, std::uint64_t length);
    bool is_taken() const;
    bool is_permitted(std::uint32_t access, std::uint64_t length);
    Permission ask_again(std::uint32_t access, std::uint64_t length);
    bool ask_for_region() const;
    CheckedRange check_remote(std::uint32_t access, std::uint64_t address,
                              std::uint64_t length) const;
    bool take_receive();
    std::uint32_t receive_key() const;
    ibv_wc_status plan_receive(bool& responder_failed);

    // -- faulted_requests.cpp. The queue pair's send_lock_ is held, which the analysis cannot know.
    std::optional<Outcome> detour() NO_THREAD_SAFETY_ANALYSIS;
    Outcome refuse_by_rule(const faults::Rule& rule) NO_THREAD_SAFETY_ANALYSIS;

    // -- executor_move.cpp
    bool fetch_payload();
    Outcome move(AgentKind kind, std::uint32_t access);
    int move_pieces(bool is_read);
    int begin_next_piece();
    bool is_still_permitted() const;
    Outcome begin_agent(AgentKind kind, std::uint32_t access);
    Outcome copied(int cause);
    Outcome move_atomic(AgentKind kind);
    int run_locked_atomic(const AtomicRequest& request, std::uint64_t& found);
    ibv_wc_status deliver_atomic(std::uint64_t found);

    Outcome finish_receive(std::uint8_t flags);
    void publish_receive(ibv_wc_status status, std::uint8_t flags);
    Outcome refuse(ibv_wc_status status, Fault fault);
    void note_fault(Fault fault) const;
    Outcome fail_receive(ibv_wc_status there, ibv_wc_status here, Fault fault);
    Outcome refuse_access(bool has_receive);
    Outcome run_local();
    bool is_send() const {
        return work_.opcode == IBV_WR_SEND || work_.opcode == IBV_WR_SEND_WITH_IMM ||
               work_.opcode == IBV_WR_SEND_WITH_INV;
    }
    bool has_immediate() const {
        return work_.opcode == IBV_WR_SEND_WITH_IMM || work_.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    }
    bool takes_receive() const { return is_send() || has_immediate(); }

    QueuePair& qp_;
    Target& target_;
    std::unique_ptr<AgentOperation>& agent_;
    const SendWork& work_;
    const bool is_fenced_;   ///< QueuePair::is_fenced_
    const bool has_detour_;  ///< the port has no link, or a fault rule concerns the queue pair
    Transfer* transfer_ = nullptr;  ///< mark of the transfer while one is under way
    Plan plan_;
    std::uint32_t slot_ = 0;
    ReceiveSlot* receive_ = nullptr;         ///< the receive with number slot_
    const std::uint8_t* payload_ = nullptr;  ///< whole payload of a short send, readable
    Asked bad_receive_;                      ///< for fail_receive(): the segment at fault, or {}
    std::uint8_t gathered_[kSlotInlineBytes];
};

}  // namespace softverbs
