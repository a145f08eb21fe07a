// Batches that a test sends, and a batch desk whose time and store a test controls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/http/api/batch_json.hpp"
#include "tests/unit/src/http/api/daemon.hpp"
#include "tests/unit/src/http/api/stepped_system.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::api::testing {

inline Answer post_lines(const Daemon& daemon, const std::string& body,
                         const httplib::Headers& headers = {},
                         const std::string& type = "application/x-ndjson") {
  return post(daemon, body, headers, type, "/v1/batches");
}

inline std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

inline cells::JobSubmitted refusal(cells::Refusal::Kind kind, std::uint64_t limit = 10) {
  return {nullptr, cells::Refusal{kind, {}, limit, limit, std::chrono::milliseconds(4000)}, false};
}

inline std::string path_of(const Answer& answer) {
  return "/v1/batches/" + answer.body["id"].get<std::string>();
}

/// Answers the first `accepted` submissions as usual, and all others with this refusal.
inline void refuse_after(Daemon& daemon, std::size_t accepted, cells::Refusal::Kind kind) {
  auto submit = daemon.script->submit;
  auto count = std::make_shared<std::size_t>(0);
  daemon.script->submit = [=](const cells::SubmitJob& message) {
    return ++*count <= accepted ? submit(message) : refusal(kind);
  };
}

/// `count` lines whose entities are named by their numbers, from 1.
inline std::string numbered_lines(int count) {
  std::string all;
  for (int n = 1; n <= count; ++n) {
    auto line = good_job + "\n";
    const std::string name = "example.com";
    all += line.replace(line.find(name), name.size(), std::to_string(n));
  }
  return all;
}

/// Returns the job of a batch as one that came too fast, as the engine does.
inline cells::JobSubmitted too_fast(const cells::JobRequest& request,
                                    std::chrono::milliseconds retry_after) {
  cells::JobSubmitted reply;
  if (!request.gate->is_paused()) {
    reply.refusal = cells::Refusal{cells::Refusal::Kind::queue_rate, {}, 10, 10, retry_after};
  }
  request.gate->pause();
  reply.returned = std::make_shared<cells::JobRequest>(request);
  return reply;
}

inline cells::JobSubmitted accepted(const cells::JobRequest& request) {
  return {std::make_shared<cells::Job>(
              cells::accept_job(request, {}, {}, cells::first_job_id_at(wall_now), wall_now)),
          std::nullopt, false};
}

/// Posts a batch of 20 lines, of which all but the first three come too fast. Returns when the
/// engine has been asked for so many.
inline std::future<Answer> post_held_back(Daemon& daemon, int lines) {
  auto is_asked = std::make_shared<std::promise<void>>();
  auto submit = daemon.script->submit;
  daemon.script->submit = [=, asked = 0](const cells::SubmitJob& message) mutable {
    if (++asked == lines) is_asked->set_value();
    if (asked <= 3) return submit(message);
    return too_fast(message.request, std::chrono::hours{1});
  };
  auto answer =
      std::async(std::launch::async, [&daemon] { return post_lines(daemon, numbered_lines(20)); });
  is_asked->get_future().wait();
  return answer;
}

/// Its store keeps only the batch that was opened last.
class Desk : public SteppedSystem {
 public:
  explicit Desk(const BatchLimits& limits = {})
      : engine_{spawn_dispatcher(system(), script), spawn_reader(system(), script),
                spawn_batch_store(system(), script)},
        desk_(spawn_batch_desk(system(), [] { return wall_now; }, figures, limits)) {
    script->open_batch = [this](const cells::OpenBatch& message) {
      batch.id = message.id;
      return cells::BatchOpened{true};
    };
    script->close_batch = [this](const cells::CloseBatch& message) {
      close(batch, message.now);
      return cells::BatchClosed{batch};
    };
    send(engine_);
    take_messages();
  }
  ~Desk() {
    end({caf::actor_cast<caf::actor>(desk_), caf::actor_cast<caf::actor>(engine_.dispatcher),
         caf::actor_cast<caf::actor>(engine_.reader), caf::actor_cast<caf::actor>(engine_.store)});
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  /// Begins a batch, which is answered on a connection of the server.
  BatchPostPtr begin(http::test::RunningServer& server, http::test::Client& client,
                     std::optional<std::chrono::seconds> wait = {}) {
    auto post = std::make_shared<BatchPost>(cells::BatchOwner{}, server.park(client),
                                            std::make_shared<CountedFlow>(resumed), wait);
    send(BeginBatch{post});
    take_messages();
    return post;
  }
  /// `count` good lines, the whole batch. Each job has parameters of `bytes` bytes.
  static SubmitLines good_lines(const BatchPostPtr& post, std::uint64_t count, std::size_t bytes) {
    SubmitLines lines{post, {}, {}};
    for (std::uint64_t line = 1; line <= count; ++line) {
      auto& request = lines.good.emplace_back(GoodLine{line, {}}).submission.request;
      request.spec.parameters.assign(bytes, ' ');
      request.gate = post->gate;
    }
    lines.next = count + 1;
    lines.is_last = true;
    return lines;
  }
  void send_lines(const BatchPostPtr& post, std::uint64_t count, std::size_t bytes) {
    send(good_lines(post, count, bytes));
  }
  template <class Message>
  void send(Message message) {
    caf::anon_send(desk_, std::move(message));
  }

  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::shared_ptr<BatchFigures> figures = std::make_shared<BatchFigures>();
  cells::Batch batch;  ///< The one that was opened last.
  int resumed = 0;     ///< How often the desk has asked for more of a body.

 private:
  class CountedFlow : public http::BodyFlow {
   public:
    explicit CountedFlow(int& resumed) : resumed_(resumed) {}
    void pause() override {}
    void resume() override { ++resumed_; }

   private:
    int& resumed_;
  };

  ServeBatches engine_;
  BatchDesk desk_;
};

}  // namespace celld::api::testing
