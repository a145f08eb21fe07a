#include "src/providers/command/call.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "src/providers/steady_now.hpp"

namespace celld::providers {
namespace {

using End = CommandResult::End;

constexpr std::size_t read_bytes = 64 << 10;

/// A write in progress. May outlive its call, because libuv still uses it.
struct Writing {
  uv_write_t request{};
  std::string document;
};

/// One buffer for all reads: libuv fills it and passes it to the read callback at once. On the
/// heap, because a thread-local array would take its pages in every thread.
void lend_buffer(uv_handle_t*, std::size_t, uv_buf_t* buffer) {
  thread_local std::vector<char> bytes(read_bytes);
  *buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
}

CommandResult result_of(CommandEnd end) {
  CommandResult result;
  result.value = end.value;
  switch (end.kind) {
    case CommandEnd::Kind::exited:
      result.end = End::exited;
      break;
    case CommandEnd::Kind::killed:
      result.end = End::killed;
      break;
    case CommandEnd::Kind::not_started:
      result.end = End::not_started;
      break;
    case CommandEnd::Kind::lost:
      result.end = End::lost;
      break;
  }
  return result;
}

}  // namespace

CommandCall::CommandCall(uv_loop_t& loop, CommandCalls::Start start, const CommandLimits& limits,
                         std::function<void()> kill)
    : loop_(loop),
      start_(std::move(start)),
      limits_(limits),
      kill_(std::move(kill)),
      timer_(this, [&](uv_timer_t* timer) { uv_timer_init(&loop, timer); }),
      lines_(limits.error_lines_max, start_.request.error_line_bytes_max,
             start_.request.take_error_line) {}

// --- Start -------------------------------------------------------------------------------------

int CommandCall::open(CommandDescriptors& descriptors) {
  auto& [program, input, output, errors] = descriptors;
  program = encode_program(*start_.request.program);
  if (!program) return errno;
  int failure = open_pipe(input_, input, true);
  if (failure == 0) failure = open_pipe(output_, output, false);
  if (failure == 0) failure = open_pipe(errors_, errors, false);
  if (failure != 0) return failure;
  write_document();
  listen(output_);
  listen(errors_);
  arm();
  return 0;
}

int CommandCall::open_pipe(Uv<uv_pipe_t>& ours, Descriptor& theirs, bool we_write) {
  std::array<uv_file, 2> ends{};
  const int failure =
      uv_pipe(ends.data(), we_write ? 0 : UV_NONBLOCK_PIPE, we_write ? UV_NONBLOCK_PIPE : 0);
  if (failure != 0) return -failure;
  theirs = Descriptor{we_write ? ends[0] : ends[1]};
  Descriptor own{we_write ? ends[1] : ends[0]};
  ours = Uv<uv_pipe_t>(this, [&](uv_pipe_t* pipe) { uv_pipe_init(&loop_, pipe, 0); });
  const int refused = uv_pipe_open(ours.get(), own.get());
  if (refused == 0) own.release();
  return -refused;
}

/// A failed write is not an error: a command may ignore its input, or stop reading early.
void CommandCall::write_document() {
  auto writing = std::make_unique<Writing>();
  writing->document = std::move(start_.request.document);
  writing->request.data = writing.get();
  auto buffer =
      uv_buf_init(writing->document.data(), static_cast<unsigned>(writing->document.size()));
  const auto written = [](uv_write_t* request, int) {
    auto* stream = request->handle;
    delete static_cast<Writing*>(request->data);
    // Closing the pipe ends the command's input. `data` is null once the call has ended.
    if (stream->data != nullptr) static_cast<CommandCall*>(stream->data)->input_.reset();
  };
  auto* stream = reinterpret_cast<uv_stream_t*>(input_.get());
  if (uv_write(&writing->request, stream, &buffer, 1, written) != 0) return input_.reset();
  // `written` owns it now.
  [[maybe_unused]] const auto* const kept = writing.release();
}

void CommandCall::listen(Uv<uv_pipe_t>& pipe) {
  uv_read_start(reinterpret_cast<uv_stream_t*>(pipe.get()), lend_buffer,
                [](uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
                  static_cast<CommandCall*>(stream->data)->on_read(stream, count, buffer->base);
                });
}

// libuv's clock may lag slightly behind the steady clock that deadlines use.
void CommandCall::arm() {
  uv_update_time(&loop_);
  const auto left = std::chrono::ceil<milliseconds>(start_.deadline - steady_now()).count();
  uv_timer_start(
      timer_.get(),
      [](uv_timer_t* timer) {
        auto& self = *static_cast<CommandCall*>(timer->data);
        if (steady_now() < self.start_.deadline) return self.arm();
        self.kill(End::timed_out);
      },
      static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0)), 0);
}

// --- Output ------------------------------------------------------------------------------------

void CommandCall::on_read(uv_stream_t* stream, ssize_t count, const char* bytes) {
  const auto* pipe = reinterpret_cast<uv_pipe_t*>(stream);
  if (count > 0) return take(pipe, {bytes, static_cast<std::size_t>(count)});
  if (count < 0) uv_read_stop(stream);
}

void CommandCall::take(const uv_pipe_t* pipe, std::string_view bytes) {
  if (pipe == errors_.get()) return lines_.add(bytes);
  const auto room = limits_.output_bytes_max - answer_.size();
  answer_ += bytes.substr(0, room);
  if (bytes.size() <= room) return;
  is_cut_ = true;
  kill(End::too_large);
}

/// Reads what the command wrote before it ended. Does not wait for the pipe to close: a process
/// that has left the group may hold it open indefinitely.
void CommandCall::read_rest(const Uv<uv_pipe_t>& pipe) {
  uv_os_fd_t descriptor = -1;
  if (!pipe || uv_fileno(reinterpret_cast<uv_handle_t*>(pipe.get()), &descriptor) != 0) return;
  constexpr int pipe_reads_max = 64;  // More than a pipe can hold.
  std::array<char, read_bytes> bytes;
  for (int i = 0; i < pipe_reads_max; ++i) {
    const auto count = ::read(descriptor, bytes.data(), bytes.size());
    if (count <= 0) return;
    take(pipe.get(), {bytes.data(), static_cast<std::size_t>(count)});
  }
}

// --- End ---------------------------------------------------------------------------------------

void CommandCall::abort(CommandCalls::Gone gone) {
  if (gone) aborted_.push_back(std::move(gone));
  kill(End::aborted);
}

void CommandCall::kill(End cause) {
  if (cause_) return;
  cause_ = cause;
  kill_();
}

void CommandCall::end(CommandEnd end) {
  kill_ = [] {};
  read_rest(output_);
  read_rest(errors_);
  for (auto* pipe : {&input_, &output_, &errors_}) pipe->reset();
  auto result = result_of(end);
  // `not_started` takes precedence over a timeout: it says that nothing has happened. A success
  // counts, even if celld was about to kill the command.
  const bool not_started = result.end == End::not_started && cause_ != End::aborted;
  const bool succeeded = result.end == End::exited && result.value == 0 && !is_cut_;
  if (cause_ && !not_started && !succeeded) result.end = *cause_;
  result.output = std::move(answer_);
  result.errors = lines_.take();
  start_.ended(std::move(result));
  for (const auto& gone : aborted_) gone();
}

}  // namespace celld::providers
