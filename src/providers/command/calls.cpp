#include "src/providers/command/calls.hpp"

#include <utility>

#include "src/providers/steady_now.hpp"

namespace celld::providers {

void CommandCalls::prepare() {
  push(Prepare{});
}

void CommandCalls::start(const cells::Lease& lease, CommandRequest request, Ended ended) {
  const auto deadline = steady_now() + request.timeout;
  push(Start{lease, std::move(request), deadline, std::move(ended)});
}

void CommandCalls::abort(const cells::Lease& lease, Gone gone) {
  push(Abort{lease, std::move(gone)});
}

void CommandCalls::signal(const cells::Lease& lease, int number) {
  push(Signal{lease, number});
}

void CommandCalls::open(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

std::vector<CommandCalls::Order> CommandCalls::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(orders_, {});
}

bool CommandCalls::stop_requested() {
  const std::lock_guard lock(mutex_);
  return stop_requested_;
}

void CommandCalls::close() {
  std::vector<Order> rest;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    wake_ = nullptr;
    rest.swap(orders_);
  }
  for (auto& order : rest) refuse(order);
}

void CommandCalls::request_stop() {
  const std::lock_guard lock(mutex_);
  stop_requested_ = true;
  if (wake_) wake_();
}

void CommandCalls::push(Order order) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      orders_.push_back(std::move(order));
      if (orders_.size() == 1 && wake_) wake_();
      return;
    }
  }
  refuse(order);
}

void CommandCalls::refuse(Order& order) {
  if (auto* start = std::get_if<Start>(&order)) start->ended(CommandResult{});
  if (auto* abort = std::get_if<Abort>(&order)) abort->gone();
}

}  // namespace celld::providers
