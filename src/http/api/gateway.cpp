#include "src/http/api/gateway.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "cells/model/job_machine.hpp"
#include "src/http/api/cell_json.hpp"
#include "src/http/api/job_json.hpp"
#include "src/http/api/pending_submissions.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/schedule_json.hpp"
#include "src/http/api/service_json.hpp"
#include "src/http/api/waiters.hpp"

namespace celld::api {
namespace {

using cells::CellStatus;
using cells::JobPtr;
using http::Responder;
using http::Response;
using std::chrono::seconds;

// How soon a disconnected client is forgotten.
constexpr std::chrono::seconds waiters_check_interval{1};
/// Waiting clients that have closed their sending side. Most of these have gone, and would keep
/// their connections for as long as they asked to wait.
constexpr std::size_t half_closed_max = 256;
constexpr int cancel_attempts_max = 5;
constexpr int reads_max = 2;  // At the same time.

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

/// 200 for a job that was submitted before or ended within the wait, otherwise 202.
Response submission_response(const cells::Job& job, bool replayed,
                             std::optional<std::chrono::seconds> waited) {
  const bool end_seen = waited && waited->count() > 0 && cells::is_ended(job.state);
  Response response = job_response(replayed || end_seen ? 200 : 202, job, waited);
  if (replayed) response.headers.emplace_back("Idempotent-Replayed", "true");
  return response;
}

Response waiter_response(const Waiter& waiter) {
  return submission_response(*waiter.job, waiter.replayed, waiter.wait);
}

Response not_cancellable(const cells::Job& job) {
  std::string detail =
      cells::is_compensating(job)
          ? "The job has failed and is being undone. An undo cannot be cancelled."
          : "The job has ended: its state is `" + std::string(to_string(job.state)) + "`.";
  return to_response({.kind = ProblemKind::not_cancellable, .detail = std::move(detail)});
}

Problem job_is_changing() {
  Problem problem{.kind = ProblemKind::unavailable,
                  .detail =
                      "The job is changing its cell or its state and was not cancelled. Try "
                      "again."};
  problem.retry_after = seconds(1);
  return problem;
}

Problem no_such_job() {
  return not_found("There is no such job.");
}

Response not_retryable(const cells::Job& job) {
  const bool has_failed =
      job.state == cells::JobState::failed || job.state == cells::JobState::cancelled;
  std::string detail = has_failed ? "A service has undone its part of the job. Submit a new job."
                                  : "Only a failed or cancelled job can be retried; this one is " +
                                        std::string(to_string(cells::shown_state(job))) + ".";
  return to_response({.kind = ProblemKind::not_retryable, .detail = std::move(detail)});
}

/// Identifies this run of celld in event ids.
std::string run_name(cells::WallTime started) {
  return cells::format_job_id(cells::first_job_id_at(started));
}

Problem is_template() {
  return {.kind = ProblemKind::is_template,
          .detail =
              "The cell is a template, which has no jobs and no state of its own. Name one of "
              "its instances."};
}

Problem not_attached() {
  return {.kind = ProblemKind::starting, .detail = "celld is starting."};
}

Problem no_such_schedule() {
  return not_found("There is no such schedule.");
}

/// The answer to a PUT of another customer's name. It reveals that the name is taken, which a
/// refusal cannot hide.
Problem schedule_of_another() {
  return not_found(
      "Another customer has a schedule of this name. Choose another name: no two schedules "
      "have the same name.");
}

Response schedule_response(const cells::ScheduleAnswered& reply) {
  switch (reply.outcome) {
    case cells::ScheduleAnswered::Outcome::done:
      return json_response(200, schedule_json(*reply.schedule));
    case cells::ScheduleAnswered::Outcome::added: {
      Response response = json_response(201, schedule_json(*reply.schedule));
      response.headers.emplace_back("Location", "/v1/schedules/" + reply.schedule->name);
      return response;
    }
    case cells::ScheduleAnswered::Outcome::not_found:
      return to_response(no_such_schedule());
    case cells::ScheduleAnswered::Outcome::configured:
      return to_response({.kind = ProblemKind::schedule_configured,
                          .detail = "The schedule comes from the configuration: change it there, "
                                    "and reload."});
    case cells::ScheduleAnswered::Outcome::too_many:
      return to_response(
          {.kind = ProblemKind::too_many_schedules,
           .detail = "celld keeps at most " + std::to_string(cells::schedules_max) +
                     " schedules, which take at most " +
                     std::to_string(cells::schedules_bytes_max) +
                     " bytes. The tokens of one customer can add schedules until that "
                     "customer has a tenth of either."});
  }
  return to_response(store_unavailable());
}

/// Cells whose statuses are known, while the ages of their oldest jobs are being read.
struct Gathering {
  std::vector<CellView> views;
  std::function<Response(const std::vector<CellView>&)> render;
  Responder responder;
  std::vector<std::size_t> without_age;  ///< Views of cells with queued jobs.
};

class GatewayActor : public Gateway::base {
 public:
  GatewayActor(caf::actor_config& config, std::function<cells::WallTime()> wall_clock,
               std::size_t ages_max)
      : Gateway::base(config),
        wall_clock_(std::move(wall_clock)),
        ages_max_(ages_max),
        feed_(std::in_place, system(), run_name(wall_clock_())) {}

  behavior_type make_behavior() override {
    return {
        [this](const cells::JobChanged& event) { job_changed(event.job); },
        [this](const cells::ChangesLost&) { changes_lost(); },
        [this](const ServeEngine& engine) {
          dispatcher_ = engine.dispatcher;
          reader_ = engine.reader;
          schedules_ = engine.schedules;
          caf::anon_send(feed_->feed(), ReadJobsFrom{reader_});
        },
        [this](const ReleaseWaiters&) {
          released_ = true;
          answer_all(waiters_.take_all());
        },
        [this](PostJob& order) { post_job(order); },
        [this](const GetJob& order) { get_job(order); },
        [this](const GetJobs& order) { get_jobs(order); },
        [this](const PostCancel& order) { post_cancel(order, cancel_attempts_max); },
        [this](const PostRetry& order) { post_retry(order); },
        [this](const FollowJob& order) { caf::anon_send(feed_->feed(), order); },
        [this](const FollowJobs& order) { caf::anon_send(feed_->feed(), order); },
        [this](const Reloading& now) { reloading(now.is_under_way); },
        [this](const EndStreams&) { caf::anon_send(feed_->feed(), EndStreams{}); },
        [this](const GetCell& order) { get_cell(order); },
        [this](const GetCells& order) { get_cells(order); },
        [this](const PutPool& order) { put_pool(order); },
        [this](const PutQuota& order) { put_quota(order); },
        [this](const PostCellState& order) { post_cell_state(order); },
        [this](const GetServices& order) { get_services(order); },
        [this](const GetService& order) { ask_service(cells::ListServices{order.service}, order); },
        [this](const PostServiceReset& order) {
          ask_service(cells::ResetService{order.service}, order);
        },
        [this](const GetSchedule& order) { get_schedule(order); },
        [this](const PutSchedule& order) { change_schedule(order); },
        [this](const DeleteSchedule& order) { change_schedule(order); },
        [this](const GetSchedules& order) { get_schedules(order); },
        [this](const CheckWaiters& check) {
          if (check_armed_ == check.at) check_waiters();
        },
        [this](const PieceTaken& event) { piece_taken(event.page.lock()); },
    };
  }

  void on_exit() override {
    answer_all(waiters_.take_all());
    feed_.reset();
    dispatcher_ = nullptr;
    reader_ = nullptr;
    schedules_ = nullptr;
    waiting_reads_.clear();
    pages_.clear();
  }

 private:
  // --- Jobs ------------------------------------------------------------------------------------

  void post_job(PostJob& order) {
    auto& under_way = order.spares_disk ? under_way_in_memory_ : under_way_;
    auto share =
        under_way.admit(order.request.spec.parameters.size(), clock().now(), is_reloading_);
    if (!share) return order.responder.answer(to_response(submissions_behind(order.spares_disk)));
    ask<cells::JobSubmitted>(
        dispatcher_, cells::SubmitJob{std::move(order.request), order.refusal_if_new.has_value()},
        order.responder,
        [this, wait = order.wait, responder = order.responder, share = std::move(share),
         refusal_if_new = std::move(order.refusal_if_new)](const cells::JobSubmitted& reply) {
          if (reply.refusal) return responder.answer(to_response(problem_of(*reply.refusal)));
          if (!reply.job) return responder.answer(to_response(*refusal_if_new));
          const bool waits = wait && wait->count() > 0 && !cells::is_ended(reply.job->state);
          if (!waits)
            return responder.answer(submission_response(*reply.job, reply.replayed, wait));
          if (released_ || !waiters_.has_room_for(*reply.job))
            return responder.answer(submission_response(*reply.job, reply.replayed, seconds(0)));
          waiters_.add({reply.job, responder, *wait, reply.replayed}, clock().now() + *wait);
          arm_check();
          check_ended(reply.job->id);
        });
  }

  /// The submissions that have waited for the decision are yet to be stored when the reload ends.
  void reloading(bool is_under_way) {
    is_reloading_ = is_under_way;
    if (is_under_way) return;
    for (auto* each : {&under_way_, &under_way_in_memory_}) each->forgive(clock().now());
  }

  void job_changed(const JobPtr& job) {
    answer_all(waiters_.changed(job));
    feed_->notify(job);
  }

  void changes_lost() {
    feed_->notify_changes_lost();
    for (const cells::JobId id : waiters_.jobs()) check_ended(id);
  }

  /// The job may have ended before the wait began: its JobChanged and the answer to its submission
  /// can arrive in either order.
  void check_ended(cells::JobId id) {
    ask_reader<cells::JobFound>(
        cells::FindJob{id}, [] { return true; },
        [this](const cells::JobFound& reply) {
          if (reply.job && cells::is_ended(reply.job->state))
            answer_all(waiters_.changed(reply.job));
        },
        [] {});
  }

  void get_job(const GetJob& order) {
    find_job(order, [responder = order.responder](const JobPtr& job) {
      responder.answer(json_response(200, job_json(*job)));
    });
  }

  /// Asks again if the job moved to another cell between the read and the engine's lookup.
  void post_cancel(const PostCancel& order, int attempts) {
    find_job(order, [this, order, attempts](const JobPtr& job) {
      ask<cells::CancelAnswered>(
          dispatcher_, cells::CancelJob{job}, order.responder,
          [this, order, attempts](const cells::CancelAnswered& reply) {
            if (reply.accepted)
              return order.responder.answer(json_response(200, job_json(*reply.job)));
            if (reply.job && !cells::can_cancel(*reply.job))
              return order.responder.answer(not_cancellable(*reply.job));
            if (attempts <= 1) return order.responder.answer(to_response(job_is_changing()));
            post_cancel(order, attempts - 1);
          });
    });
  }

  void post_retry(const PostRetry& order) {
    find_job(order, [this, order](const JobPtr& job) {
      ask<cells::ReopenAnswered>(
          dispatcher_, cells::ReopenJob{job}, order.responder,
          [responder = order.responder](const cells::ReopenAnswered& reply) {
            if (reply.refusal)
              return responder.answer(to_response(problem_of_reopening(*reply.refusal)));
            if (!reply.job) return responder.answer(to_response(no_such_job()));
            responder.answer(reply.accepted ? job_response(202, *reply.job, std::nullopt)
                                            : not_retryable(*reply.job));
          });
    });
  }

  /// Calls `then` with the job that the order names, if it exists and the client may see it.
  template <class Order, class Then>
  void find_job(const Order& order, const Then& then) {
    read<cells::JobFound>(cells::FindJob{order.job.id}, order.responder,
                          [order, then](const cells::JobFound& reply) {
                            if (const auto job = order.job.visible(reply.job)) {
                              then(job);
                            } else {
                              order.responder.answer(to_response(no_such_job()));
                            }
                          });
  }

  void get_jobs(const GetJobs& order) {
    cells::ListJobs list = order.list;
    if (order.only_customer) {
      const std::string asked = list.filter.customer.value_or(*order.only_customer);
      if (asked != *order.only_customer)
        return order.responder.answer(json_response(200, job_list_json({}, 0)));
      list.filter.customer = asked;
    }
    read_piece(std::make_shared<JobPage>(std::move(list), order.responder));
  }

  void read_piece(const std::shared_ptr<JobPage>& page) {
    read<cells::JobsListed>(
        page->ask_piece(), page->responder(),
        [this, page](const cells::JobsListed& piece) { send_piece(page, piece); },
        [this, page] { pages_.erase(page); });
  }

  /// The stream's callback asks for the next piece. It must not keep the page alive.
  void send_piece(const std::shared_ptr<JobPage>& page, const cells::JobsListed& piece) {
    const std::weak_ptr<JobPage> weak = page;
    const bool more =
        page->send(piece, [weak, self = Gateway{this}] { caf::anon_send(self, PieceTaken{weak}); });
    if (more) {
      pages_.insert(page);
    } else {
      pages_.erase(page);
    }
  }

  void piece_taken(const std::shared_ptr<JobPage>& page) {
    if (!page || page->asked()) return;
    if (page->connected()) return read_piece(page);
    pages_.erase(page);
  }

  // --- Waiting for the end of a job ------------------------------------------------------------

  void check_waiters() {
    check_armed_ = std::nullopt;
    answer_all(waiters_.take_expired(clock().now()));
    answer_all(waiters_.take_gone(half_closed_max));
    arm_check();
  }

  /// One timer for all waiters: at the next deadline, or earlier to find disconnected clients.
  void arm_check() {
    const auto deadline = waiters_.next_deadline();
    if (!deadline) return;
    const auto now = clock().now();
    const auto at = std::min(*deadline, now + waiters_check_interval);
    if (check_armed_ && *check_armed_ <= at) return;
    check_armed_ = at;
    delayed_send(this, std::max(at - now, Waiters::Time::duration::zero()), CheckWaiters{at});
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
        dispatcher_, order.change, order.responder,
        [this, responder = order.responder,
         names_burst = order.change.burst.has_value()](const cells::CellDescribed& cell) {
          if (cell.refused)
            return responder.answer(to_response(problem_of(*cell.refused, names_burst)));
          answer_cell(cell, 202, responder);
        });
  }

  void put_quota(const PutQuota& order) {
    ask<cells::CellDescribed>(
        dispatcher_, cells::ChangeQuota{order.cell, order.quota}, order.responder,
        [this, responder = order.responder](const cells::CellDescribed& cell) {
          answer_cell(cell, 202, responder);
        });
  }

  void post_cell_state(const PostCellState& order) {
    ask<cells::CellDescribed>(
        dispatcher_, cells::ChangeCellState{order.cell, order.state}, order.responder,
        [this, responder = order.responder](const cells::CellDescribed& cell) {
          if (cell.status && cell.status->is_template) {
            responder.answer(to_response(is_template()));
          } else {
            answer_cell(cell, 200, responder);
          }
        });
  }

  void answer_cell(const cells::CellDescribed& cell, int status, const Responder& responder) {
    if (!cell.status) return responder.answer(to_response(not_found("There is no such cell.")));
    gather({*cell.status}, responder, [status](const std::vector<CellView>& views) {
      return json_response(status, cell_json(views.front()));
    });
  }

  void get_cells(const GetCells& order) {
    cells::ListCells list = order.list;
    list.customer = order.only_customer;
    ask<cells::CellsListed>(
        dispatcher_, std::move(list), order.responder,
        [this, responder = order.responder](const cells::CellsListed& reply) {
          gather(reply.cells, responder,
                 [more_after = reply.more_after](const std::vector<CellView>& views) {
                   return json_response(200, cell_list_json(views, more_after));
                 });
        });
  }

  void get_services(const GetServices& order) {
    ask<cells::ServicesListed>(
        dispatcher_, cells::ListServices{}, order.responder,
        [order](const cells::ServicesListed& reply) {
          order.responder.answer(json_response(
              200, service_list_json(reply.services, order.settings->service_types, order.list)));
        });
  }

  /// Answers with the status of the service that `order` names.
  template <class Question, class Order>
  void ask_service(Question question, const Order& order) {
    ask<cells::ServicesListed>(
        dispatcher_, std::move(question), order.responder,
        [order](const cells::ServicesListed& reply) {
          const auto status = reply.services.find(order.service);
          const auto& types = order.settings->service_types;
          const auto type = types.find(order.service);
          if (status == reply.services.end() || type == types.end()) {
            return order.responder.answer(to_response(not_found("There is no such service.")));
          }
          order.responder.answer(
              json_response(200, service_json(order.service, type->second, status->second)));
        });
  }

  // --- Schedules -------------------------------------------------------------------------------

  void get_schedule(const GetSchedule& order) {
    ask<cells::ScheduleDescribed>(
        schedules_, order.question, order.responder,
        [responder = order.responder](const cells::ScheduleDescribed& reply) {
          responder.answer(reply.schedule ? json_response(200, schedule_json(*reply.schedule))
                                          : to_response(no_such_schedule()));
        });
  }

  /// PUT answers with the schedule as it is now, DELETE with its last state.
  template <class Order>
  void change_schedule(const Order& order) {
    ask<cells::ScheduleAnswered>(
        schedules_, order.order, order.responder,
        [responder = order.responder](const cells::ScheduleAnswered& reply) {
          constexpr bool adds = std::is_same_v<Order, PutSchedule>;
          const bool is_hidden = reply.outcome == cells::ScheduleAnswered::Outcome::not_found;
          responder.answer(adds && is_hidden ? to_response(schedule_of_another())
                                             : schedule_response(reply));
        });
  }

  void get_schedules(const GetSchedules& order) {
    ask<cells::SchedulesListed>(schedules_, order.list, order.responder,
                                [responder = order.responder](const cells::SchedulesListed& page) {
                                  responder.answer(json_response(200, schedule_list_json(page)));
                                });
  }

  /// Reads the age of each cell's oldest queued job, then renders.
  void gather(const std::vector<CellStatus>& cells, const Responder& responder,
              std::function<Response(const std::vector<CellView>&)> render) {
    auto gathering = std::make_shared<Gathering>(Gathering{{}, std::move(render), responder, {}});
    for (const CellStatus& status : cells) {
      if (status.queue.counts[cells::JobState::queued] != 0) {
        gathering->without_age.push_back(gathering->views.size());
      }
      gathering->views.push_back({status});
    }
    ask_ages(gathering);
  }

  /// Some at a time, so that other reads need not wait for all of them.
  void ask_ages(const std::shared_ptr<Gathering>& gathering) {
    auto& [views, render, responder, without_age] = *gathering;
    if (without_age.empty()) return responder.answer(render(views));
    const auto count = std::min(ages_max_, without_age.size());
    const std::vector<std::size_t> asked(without_age.end() - static_cast<std::ptrdiff_t>(count),
                                         without_age.end());
    without_age.resize(without_age.size() - count);
    cells::FindOldestQueued question;
    for (const auto view : asked) question.cells.push_back(views[view].status.key);
    read<cells::OldestQueued>(std::move(question), responder,
                              [this, gathering, asked](const cells::OldestQueued& oldest) {
                                for (std::size_t i = 0; i < asked.size(); ++i) {
                                  gathering->views[asked[i]].oldest_queued = age(oldest.places[i]);
                                }
                                ask_ages(gathering);
                              });
  }

  cells::milliseconds age(cells::JobId place) const {
    if (place == 0) return cells::milliseconds(0);
    return std::max(wall_clock_() - cells::time_of(place), cells::milliseconds(0));
  }

  // --- The engine ------------------------------------------------------------------------------

  template <class Reply, class Ask, class Then>
  void read(
      Ask question, const Responder& responder, const Then& then,
      const std::function<void()>& otherwise = [] {}) {
    if (!reader_) return responder.answer(to_response(not_attached()));
    ask_reader<Reply>(
        std::move(question),
        [responder, otherwise] {
          const bool wanted = responder.connected();
          if (!wanted) otherwise();
          return wanted;
        },
        then,
        [responder, otherwise] {
          responder.answer(to_response(store_unavailable()));
          otherwise();
        });
  }

  /// Queues a read whose result may be large. Only a few reads are in flight, which bounds memory
  /// and costs no time, because a single actor serves them. A read that is no longer `wanted` when
  /// its turn comes is dropped.
  template <class Reply, class Ask, class Wanted, class Then, class Failed>
  void ask_reader(Ask question, const Wanted& wanted, const Then& then, const Failed& failed) {
    waiting_reads_.push_back([this, question = std::move(question), wanted, then, failed] {
      if (!wanted()) return;
      ++reads_;
      request(reader_, caf::infinite, question)
          .then(
              [this, then](const Reply& reply) {
                --reads_;
                then(reply);
                start_reads();
              },
              [this, failed](const caf::error&) {
                --reads_;
                failed();
                start_reads();
              });
    });
    start_reads();
  }

  void start_reads() {
    while (reads_ < reads_max && !waiting_reads_.empty()) {
      const auto start = std::move(waiting_reads_.front());
      waiting_reads_.pop_front();
      start();
    }
  }

  template <class Reply, class Handle, class Ask, class Then>
  void ask(const Handle& actor, Ask question, const Responder& responder, const Then& then) {
    if (!actor) return responder.answer(to_response(not_attached()));
    request(actor, caf::infinite, std::move(question))
        .then(
            [then](const Reply& reply) { then(reply); },
            [responder](const caf::error&) { responder.answer(to_response(store_unavailable())); });
  }

  std::function<cells::WallTime()> wall_clock_;
  const std::size_t ages_max_;
  cells::CellDispatcher dispatcher_;
  cells::JobReader reader_;
  cells::ScheduleDesk schedules_;
  bool is_reloading_ = false;
  PendingSubmissions under_way_;            ///< Those that wait for the disk.
  PendingSubmissions under_way_in_memory_;  ///< Those that do not.
  int reads_ = 0;
  std::deque<std::function<void()>> waiting_reads_;
  std::set<std::shared_ptr<JobPage>> pages_;  ///< Pages with more to send.
  std::optional<FeedInlet> feed_;
  Waiters waiters_;
  bool released_ = false;                     ///< Clients no longer wait for jobs.
  std::optional<Waiters::Time> check_armed_;  ///< When the next CheckWaiters is due.
};

}  // namespace

Gateway spawn_gateway(caf::actor_system& system, std::function<cells::WallTime()> wall_clock,
                      std::size_t ages_max) {
  return system.spawn<GatewayActor>(std::move(wall_clock), ages_max);
}

}  // namespace celld::api
