// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/epilogue.hpp"

#include <utility>

#include "providers/ucm/service.hpp"

namespace dapl::ucm {

Epilogue::Epilogue(Service& service, const Dialog& dialog, Kind kind, Waiter* waiter)
    : service_(service), dialog_(dialog), kind_(kind), waiter_(waiter) {}

Epilogue::~Epilogue() {
    service_.loop.cancel(*this);
}

void Epilogue::start() {
    if (kind_ == Kind::kDisconnecting)
        service_.begin_disconnect(*this);
    else
        service_.limit(*this);
}

void Epilogue::send_disconnect() {
    if (sends_ == service_.timing.disconnect_sends) return down();
    Message message = dialog_.answer(Operation::kDisconnect);
    message.retries = static_cast<std::uint8_t>(sends_++);
    service_.send(message, dialog_);
    service_.loop.arm(*this, Clock::now() + service_.timing.disconnect);
}

void Epilogue::down() {
    service_.end_disconnect(*this);
    kind_ = Kind::kOver;
    service_.loop.cancel(*this);
    service_.limit(*this);
    if (Waiter* const waiter = std::exchange(waiter_, nullptr)) waiter->is_down();
}

void Epilogue::take(const Message& message) {
    switch (message.operation) {
        case Operation::kRequest:
            if (kind_ == Kind::kRejected) service_.send(dialog_.last(), dialog_);
            return;
        case Operation::kReply:
            if (kind_ == Kind::kOver)
                service_.send(dialog_.answer(Operation::kReadyToUse), dialog_);
            return;
        case Operation::kDisconnect:
            service_.send(dialog_.answer(Operation::kDisconnected), dialog_);
            if (kind_ == Kind::kDisconnecting) down();
            return;
        case Operation::kDisconnected:
            if (kind_ == Kind::kDisconnecting) down();
            return;
        default:
            return;
    }
}

void Epilogue::undeliverable(const Refusal& refusal) {
    if (kind_ == Kind::kDisconnecting && !refusal.timed_out) down();
}

void Epilogue::expelled(const std::string&) {
    service_.forget(*this);
}

}  // namespace dapl::ucm
