#include "src/http/api/gateway.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "src/http/api/cell_json.hpp"
#include "src/http/api/job_json.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/waiters.hpp"

namespace celld::api {
namespace {

using cells::CellStatus;
using cells::JobPtr;
using http::Responder;
using http::Response;

// How soon a client that has gone is forgotten.
constexpr std::chrono::seconds waiters_check_interval{1};
constexpr int place_counter_bits = 20;  // See cells::JobId.

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

Response job_response(int status, const cells::Job& job,
                      std::optional<std::chrono::seconds> waited) {
  Response response = json_response(status, job_json(job));
  response.headers.emplace_back("Location", "/v1/jobs/" + cells::format_job_id(job.id));
  if (waited)
    response.headers.emplace_back("Preference-Applied", "wait=" + std::to_string(waited->count()));
  return response;
}

Response waiter_response(const Waiter& waiter) {
  const int status = cells::is_ended(waiter.job->state) ? 200 : 202;
  return job_response(status, *waiter.job, waiter.wait);
}

Problem not_attached() {
  return {.kind = ProblemKind::starting, .detail = "celld is starting."};
}

/// Cells that were described, while their ages are asked for.
struct Gathering {
  std::vector<CellView> views;
  std::size_t missing;  ///< Answers, and the asking itself.
  bool failed;
  std::function<Response(const std::vector<CellView>&)> render;
  Responder responder;
};

class GatewayActor : public Gateway::base {
 public:
  GatewayActor(caf::actor_config& config, std::function<cells::WallTime()> wall_clock)
      : Gateway::base(config), wall_clock_(std::move(wall_clock)) {}

  behavior_type make_behavior() override {
    return {
        [this](const cells::JobChanged& event) { job_changed(event.job); },
        [this](const ServeEngine& engine) {
          dispatcher_ = engine.dispatcher;
          reader_ = engine.reader;
        },
        [this](const ReleaseWaiters&) { answer_all(waiters_.take_all()); },
        [this](PostJob& order) { post_job(order); },
        [this](const GetJob& order) { get_job(order); },
        [this](const GetJobs& order) { get_jobs(order); },
        [this](const GetCell& order) { get_cell(order); },
        [this](const GetCells& order) { get_cells(order); },
        [this](const PutPool& order) { put_pool(order); },
        [this](const CheckWaiters&) { check_waiters(); },
    };
  }

  void on_exit() override {
    answer_all(waiters_.take_all());
    dispatcher_ = nullptr;
    reader_ = nullptr;
  }

 private:
  // --- Jobs ------------------------------------------------------------------------------------

  void post_job(PostJob& order) {
    ask<cells::JobSubmitted>(
        dispatcher_, cells::SubmitJob{std::move(order.request)}, order.responder,
        [this, wait = order.wait, responder = order.responder](const cells::JobSubmitted& reply) {
          if (reply.refusal) return responder.answer(to_response(problem_of(*reply.refusal)));
          if (!wait || wait->count() == 0)
            return responder.answer(job_response(202, *reply.job, wait));
          waiters_.add({reply.job, responder, *wait}, clock().now() + *wait);
          arm_check();
        });
  }

  void job_changed(const JobPtr& job) {
    if (const auto waiter = waiters_.changed(job))
      waiter->responder.answer(waiter_response(*waiter));
  }

  void get_job(const GetJob& order) {
    ask<cells::JobFound>(reader_, cells::FindJob{order.id}, order.responder,
                         [responder = order.responder](const cells::JobFound& reply) {
                           responder.answer(reply.job
                                                ? json_response(200, job_json(*reply.job))
                                                : to_response(not_found("There is no such job.")));
                         });
  }

  void get_jobs(const GetJobs& order) {
    ask<cells::JobsListed>(
        reader_, order.list, order.responder,
        [responder = order.responder](const cells::JobsListed& reply) {
          responder.answer(json_response(200, job_list_json(reply.jobs, reply.next)));
        });
  }

  // --- Waiting for the end of a job ------------------------------------------------------------

  void check_waiters() {
    check_armed_ = std::nullopt;
    answer_all(waiters_.take_expired(clock().now()));
    waiters_.drop_gone();
    arm_check();
  }

  /// One timer for all: at the next deadline, or when clients that have gone are due to be found.
  void arm_check() {
    const auto deadline = waiters_.next_deadline();
    if (!deadline) return;
    const auto now = clock().now();
    const auto at = std::min(*deadline, now + waiters_check_interval);
    if (check_armed_ && *check_armed_ <= at) return;
    check_armed_ = at;
    delayed_send(this, std::max(at - now, Waiters::Time::duration::zero()), CheckWaiters{});
  }

  static void answer_all(const std::vector<Waiter>& waiters) {
    for (const Waiter& waiter : waiters) waiter.responder.answer(waiter_response(waiter));
  }

  // --- Cells -----------------------------------------------------------------------------------

  void get_cell(const GetCell& order) {
    ask<cells::CellDescribed>(
        dispatcher_, cells::DescribeCell{order.cell}, order.responder,
        [this, responder = order.responder](const cells::CellDescribed& cell) {
          answer_cell(cell, 200, responder);
        });
  }

  void put_pool(const PutPool& order) {
    ask<cells::CellDescribed>(
        dispatcher_, cells::ResizePool{order.cell, order.size}, order.responder,
        [this, responder = order.responder](const cells::CellDescribed& cell) {
          answer_cell(cell, 202, responder);
        });
  }

  void answer_cell(const cells::CellDescribed& cell, int status, const Responder& responder) {
    if (!cell.status) return responder.answer(to_response(not_found("There is no such cell.")));
    gather({*cell.status}, responder, [status](const std::vector<CellView>& views) {
      return json_response(status, cell_json(views.front()));
    });
  }

  void get_cells(const GetCells& order) {
    ask<cells::CellsListed>(dispatcher_, order.list, order.responder,
                            [this, responder = order.responder](const cells::CellsListed& reply) {
                              gather(reply.cells, responder,
                                     [more = reply.more](const std::vector<CellView>& views) {
                                       return json_response(200, cell_list_json(views, more));
                                     });
                            });
  }

  /// Asks for the age of the oldest queued job of each cell that has one, then renders.
  void gather(const std::vector<CellStatus>& cells, const Responder& responder,
              std::function<Response(const std::vector<CellView>&)> render) {
    auto gathering =
        std::make_shared<Gathering>(Gathering{{}, 1, false, std::move(render), responder});
    for (const CellStatus& status : cells) gathering->views.push_back({status});
    for (std::size_t i = 0; i < gathering->views.size(); ++i) {
      if (cells[i].queue.counts[cells::JobState::queued] > 0) ask_age(gathering, i);
    }
    gathered_one(*gathering);
  }

  void ask_age(const std::shared_ptr<Gathering>& gathering, std::size_t index) {
    ++gathering->missing;
    request(reader_, caf::infinite, cells::FindOldestQueued{gathering->views[index].status.key})
        .then(
            [this, gathering, index](const cells::OldestQueued& oldest) {
              gathering->views[index].oldest_queued = age(oldest.place);
              gathered_one(*gathering);
            },
            [gathering](const caf::error&) {
              gathering->failed = true;
              gathered_one(*gathering);
            });
  }

  static void gathered_one(Gathering& gathering) {
    if (--gathering.missing > 0) return;
    gathering.responder.answer(gathering.failed ? to_response(store_unavailable())
                                                : gathering.render(gathering.views));
  }

  cells::milliseconds age(cells::JobId place) const {
    if (place == 0) return cells::milliseconds(0);
    const cells::WallTime since{
        cells::milliseconds(static_cast<std::int64_t>(place >> place_counter_bits))};
    return std::max(wall_clock_() - since, cells::milliseconds(0));
  }

  // --- The engine ------------------------------------------------------------------------------

  template <class Reply, class Handle, class Ask, class Then>
  void ask(const Handle& whom, Ask question, const Responder& responder, Then then) {
    if (!whom) return responder.answer(to_response(not_attached()));
    request(whom, caf::infinite, std::move(question))
        .then(
            [then](const Reply& reply) { then(reply); },
            [responder](const caf::error&) { responder.answer(to_response(store_unavailable())); });
  }

  std::function<cells::WallTime()> wall_clock_;
  cells::CellDispatcher dispatcher_;
  cells::JobReader reader_;
  Waiters waiters_;
  std::optional<Waiters::Time> check_armed_;  ///< When the next CheckWaiters comes.
};

}  // namespace

Gateway spawn_gateway(caf::actor_system& system, std::function<cells::WallTime()> wall_clock) {
  return system.spawn<GatewayActor>(std::move(wall_clock));
}

}  // namespace celld::api
