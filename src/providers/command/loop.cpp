#include "src/providers/command/loop.hpp"

#include <csignal>
#include <system_error>
#include <utility>
#include <variant>

#include "src/providers/steady_now.hpp"

namespace celld::providers {

CommandLoop::CommandLoop(CommandLimits limits, int lock, CommandCalls& calls)
    : limits_(limits), orders_(calls) {
  int failure = uv_loop_init(&loop_);
  if (failure != 0) throw std::system_error(-failure, std::generic_category(), "libuv");
  wake_ = Uv<uv_async_t>(this, [&](uv_async_t* wake) {
    failure = uv_async_init(
        &loop_, wake, [](uv_async_t* async) { static_cast<CommandLoop*>(async->data)->on_wake(); });
  });
  if (failure != 0) throw std::system_error(-failure, std::generic_category(), "libuv");
  grace_ = Uv<uv_timer_t>(this, [&](uv_timer_t* timer) { uv_timer_init(&loop_, timer); });
  supervisor_ = std::make_unique<CommandSupervisor>(
      loop_, lock, [this](std::uint64_t id, CommandEnd how) { end(id, how); });
  orders_.open([wake = wake_.get()] { uv_async_send(wake); });
}

CommandLoop::~CommandLoop() {
  orders_.close();
  calls_.clear();
  supervisor_.reset();
  grace_.reset();
  wake_.reset();
  uv_run(&loop_, UV_RUN_DEFAULT);  // Releases the handles.
  uv_loop_close(&loop_);
}

void CommandLoop::run() {
  on_wake();  // Takes the orders that arrived before the loop ran.
  uv_run(&loop_, UV_RUN_DEFAULT);
  while (!calls_.empty()) end(calls_.begin()->first, {CommandEnd::Kind::lost, 0});
  orders_.close();
}

void CommandLoop::on_wake() {
  for (auto& order : orders_.take()) {
    std::visit([this](auto& each) { carry_out(each); }, order);
  }
  if (orders_.stop_requested() && !stopping_) begin_stop();
}

void CommandLoop::carry_out(CommandCalls::Start& start) {
  if (stopping_ || ids_.contains(start.lease)) return start.ended(CommandResult{});
  if (steady_now() >= start.deadline) {
    CommandResult late;
    late.end = CommandResult::End::timed_out;
    return start.ended(std::move(late));
  }
  const auto id = ++last_id_;
  auto call = std::make_unique<CommandCall>(loop_, std::move(start), limits_,
                                            [this, id] { supervisor_->signal(id, SIGKILL); });
  CommandDescriptors descriptors;
  if (const int failure = call->open(descriptors); failure != 0) {
    return call->end({CommandEnd::Kind::not_started, failure});
  }
  ids_.emplace(call->lease(), id);
  calls_.emplace(id, std::move(call));
  supervisor_->start(id, std::move(descriptors));
}

void CommandLoop::carry_out(CommandCalls::Abort& abort) {
  const auto id = ids_.find(abort.lease);
  if (id == ids_.end()) return abort.gone();
  calls_.at(id->second)->abort(std::move(abort.gone));
}

void CommandLoop::carry_out(const CommandCalls::Signal& signal) {
  const auto id = ids_.find(signal.lease);
  if (id != ids_.end()) supervisor_->signal(id->second, signal.number);
}

void CommandLoop::end(std::uint64_t id, CommandEnd end) {
  const auto call = std::move(calls_.at(id));
  calls_.erase(id);
  ids_.erase(call->lease());
  call->end(end);
  stop_when_idle();
}

void CommandLoop::begin_stop() {
  stopping_ = true;
  uv_update_time(&loop_);
  uv_timer_start(
      grace_.get(), [](uv_timer_t* timer) { uv_stop(timer->loop); },
      static_cast<std::uint64_t>(limits_.stop_grace.count()), 0);
  for (const auto& [id, call] : calls_) call->abort(nullptr);
  stop_when_idle();
}

void CommandLoop::stop_when_idle() {
  if (!stopping_ || !calls_.empty()) return;
  supervisor_->stop([this] { uv_stop(&loop_); });
}

}  // namespace celld::providers
