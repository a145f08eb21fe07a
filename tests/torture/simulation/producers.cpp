#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/owed_answers.hpp"
#include "src/http/api/batch_desk.hpp"
#include "src/json/json.hpp"
#include "tests/torture/simulation/actors.hpp"
#include "tests/torture/simulation/responder.hpp"

namespace simulation {
namespace {

namespace api = celld::api;

constexpr std::uint64_t pause_ms_max = 300;
constexpr std::uint64_t piece_lines_max = 6;

/// The flow of one body may go on.
struct FlowResumed {
  std::uint64_t post = 0;
};
struct PostAnswered {
  std::uint64_t post = 0;
  int status = 0;
  std::string body;
};

}  // namespace
}  // namespace simulation

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::FlowResumed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(simulation::PostAnswered)

namespace simulation {
namespace {

class Flow : public celld::http::BodyFlow {
 public:
  explicit Flow(std::function<void()> on_resumed) : on_resumed_(std::move(on_resumed)) {}

  void pause() override { paused_ += 1; }
  void resume() override {
    if (--paused_ == 0) on_resumed_();
  }

 private:
  std::function<void()> on_resumed_;
  std::size_t paused_ = 0;
};

/// Plays all clients that send batches, and the server between them and the desk. Submissions and
/// cancellations of the desk pass through it, so that the world knows of them. Its state outlives
/// the daemon, like the clients.
class ProducersActor : public caf::event_based_actor {
 public:
  ProducersActor(caf::actor_config& config, std::shared_ptr<World> world, BatchEngine engine,
                 std::shared_ptr<Producers> producers, std::shared_ptr<ClientState> state)
      : event_based_actor(config),
        world_(std::move(world)),
        engine_(std::move(engine)),
        producers_(std::move(producers)),
        state_(std::move(state)) {}

  caf::behavior make_behavior() override {
    const auto figures = std::make_shared<api::BatchFigures>();
    producers_->reading = [figures] { return figures->reading.load(); };
    desk_ = api::spawn_batch_desk(
        system(), [world = world_] { return world->now_wall; }, figures, engine_.limits);
    // As in the daemon, the desk begins once the engine has.
    request(engine_.dispatcher, caf::infinite, ListCells{std::nullopt, 1})
        .then([this](const CellsListed&) { serve(); }, [](const caf::error&) {});
    return {
        [this](const ProducersTick& tick) { do_due(tick.at); },
        [this](const ProducersStop&) { stopped_ = true; },
        [this](const EndBatches&) { caf::anon_send(desk_, api::EndReading{}); },
        [this](const FlowResumed& resumed) {
          schedule(below_ms(pause_ms_max), [this, post = resumed.post] { send_piece(post); });
        },
        [this](const PostAnswered& answer) { answered(answer); },
        [this](const SubmitJob& message) { return submit(message); },
        [this](const CancelJob& message) { return cancel(message); },
    };
  }

  void on_exit() override {
    owed_.fail();
    if (desk_) caf::anon_send_exit(desk_, caf::exit_reason::kill);
    desk_ = nullptr;
    engine_ = {};
    due_.clear();
    posts_.clear();
  }

 private:
  using Action = std::function<void()>;

  void serve() {
    api::ServeBatches order;
    order.dispatcher = caf::actor_cast<CellDispatcher>(caf::actor_cast<caf::actor>(this));
    order.reader = engine_.reader;
    order.store = caf::actor_cast<api::BatchStore>(engine_.store);
    caf::anon_send(desk_, std::move(order));
    for (auto& producer : producers_->each) come_back(producer);
  }

  /// One request to the API.
  struct Post {
    Producer* producer = nullptr;
    api::BatchPostPtr shared;
    std::shared_ptr<HttpClient> client;
    std::size_t first = 0;  ///< Of the producer's lines.
    std::size_t sent = 0;
    SteadyTime at{};
  };

  Dice& dice() { return world_->dice; }
  SteadyTime now() const { return world_->now_steady; }
  microseconds below_ms(std::uint64_t ms) { return microseconds{dice().below(ms * 1000)}; }

  // --- Time ------------------------------------------------------------------------------------

  void schedule(microseconds in, Action action) {
    const SteadyTime at = now() + in;
    due_.emplace(at, std::move(action));
    delayed_send(this, at - now(), ProducersTick{at});
  }

  void do_due(SteadyTime at) {
    while (!due_.empty() && due_.begin()->first <= at) {
      const Action action = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      action();
    }
  }

  // --- Sending ---------------------------------------------------------------------------------

  /// The daemon has started, perhaps again. Without keys a client does not know what to repeat.
  void come_back(Producer& producer) {
    if (producer.is_sending) broken_off(producer);
    send_later(producer);
  }

  void broken_off(Producer& producer) {
    producer.is_sending = false;
    producer.is_done = !producer.has_keys;
    producer.next = 0;
  }

  void send_later(Producer& producer) {
    if (producer.is_done || stopped_) return;
    schedule(below_ms(4 * pause_ms_max), [this, &producer] { begin(producer); });
  }

  void begin(Producer& producer) {
    if (stopped_) return;
    const auto number = ++last_post_;
    const auto client = std::make_shared<HttpClient>();
    const auto self = caf::actor_cast<caf::actor>(this);
    client->on_answer = [self, number](const celld::http::Response& response) {
      caf::anon_send(self, PostAnswered{number, response.status, response.body});
    };
    const auto flow =
        std::make_shared<Flow>([self, number] { caf::anon_send(self, FlowResumed{number}); });
    const auto shared =
        std::make_shared<api::BatchPost>(BatchOwner{}, responder_for(client), flow, std::nullopt);
    posts_[number] = {&producer, shared, client, producer.next, 0, now()};
    producer.is_sending = true;
    state_->unanswered += 1;
    world_->note(producer.name + " sends its lines from " + std::to_string(producer.next));
    flow->pause();
    caf::anon_send(desk_, api::BeginBatch{shared});
  }

  void send_piece(std::uint64_t number) {
    const auto found = posts_.find(number);
    if (found == posts_.end()) return;
    Post& post = found->second;
    if (world_->may(Fault::broken_batch) && dice().one_in(12)) return hang_up(found, true);
    const auto& lines = post.producer->lines;
    const std::size_t left = lines.size() - post.first - post.sent;
    const std::size_t count = stopped_ ? 0 : std::min(left, 1 + dice().below(piece_lines_max));
    api::SubmitLines piece;
    piece.post = post.shared;
    for (std::size_t i = 0; i < count; ++i) {
      const BatchLine& line = lines[post.first + post.sent];
      post.sent += 1;
      if (line.is_good) {
        piece.good.push_back({post.sent, {line.request}});
        piece.good.back().submission.request.gate = post.shared->gate;
      } else {
        piece.bad.push_back({post.sent, std::make_shared<api::Problem>()});
      }
    }
    piece.next = post.sent + 1;
    piece.is_last = count == left || stopped_;
    if (!piece.is_last) post.shared->flow->pause();
    caf::anon_send(desk_, std::move(piece));
    if (world_->may(Fault::broken_batch) && dice().one_in(20)) hang_up(found, !piece.is_last);
  }

  /// The client is gone. The server notices while it reads the body.
  void hang_up(std::map<std::uint64_t, Post>::iterator found, bool is_noticed) {
    Post& post = found->second;
    world_->note(post.producer->name + " hangs up");
    post.client->is_connected = false;
    post.client->on_answer = nullptr;
    state_->unanswered -= 1;
    if (is_noticed) caf::anon_send(desk_, api::AbandonBatch{post.shared});
    broken_off(*post.producer);
    send_later(*post.producer);
    posts_.erase(found);
  }

  // --- Answers ---------------------------------------------------------------------------------

  void answered(const PostAnswered& answer) {
    const auto found = posts_.find(answer.post);
    if (found == posts_.end()) return;
    const Post post = std::move(found->second);
    posts_.erase(found);
    state_->unanswered -= 1;
    Producer& producer = *post.producer;
    producer.is_sending = false;
    world_->note(producer.name + " is answered " + std::to_string(answer.status));
    if (answer.status == 202) {
      const BatchReport report = read(post, answer.body);
      world_->batch_answered(report);
      const std::size_t end = report.stopped_at.value_or(report.lines.size() + 1);
      producer.next = post.first + end - 1;
      producer.is_done = producer.next == producer.lines.size() || !producer.has_keys;
    }
    // The answer may have been lost on its way.
    if (world_->may(Fault::broken_batch) && dice().one_in(4)) broken_off(producer);
    send_later(producer);
  }

  static BatchReport read(const Post& post, const std::string& body) {
    const auto json = celld::json::Value::parse(body);
    BatchReport report;
    report.id = *parse_job_id(json.at("id").get<std::string>());
    report.asked = post.at;
    for (std::size_t i = 0; i < post.sent; ++i) {
      report.lines.push_back(post.producer->lines[post.first + i].request.spec.parameters);
    }
    report.accepted = json.at("accepted").get<std::uint64_t>();
    report.replayed = json.at("replayed").get<std::uint64_t>();
    report.rejected_count = json.at("rejected").get<std::uint64_t>();
    if (!json.at("stopped_at_line").is_null()) {
      report.stopped_at = json.at("stopped_at_line").get<std::size_t>();
    }
    for (const auto& error : json.at("errors")) {
      const auto line = error.at("line").get<std::size_t>();
      if (line != report.stopped_at) report.rejected.insert(line);
    }
    return report;
  }

  // --- Between the desk and the engine ---------------------------------------------------------

  caf::result<JobSubmitted> submit(const SubmitJob& message) {
    const auto number = world_->submission_asked(message.request);
    auto promise = make_response_promise<JobSubmitted>();
    const auto owed = owed_.add(promise);
    state_->unanswered += 1;
    request(engine_.dispatcher, caf::infinite, message)
        .then(
            [this, number, owed, gate = message.request.gate](const JobSubmitted& answer) {
              state_->unanswered -= 1;
              world_->line_answered(number, answer, gate->is_closed());
              owed_.deliver(owed, answer);
            },
            [this, number, owed](caf::error& error) {
              state_->unanswered -= 1;
              world_->request_failed(number);
              owed_.deliver(owed, std::move(error));
            });
    return promise;
  }

  caf::result<CancelAnswered> cancel(const CancelJob& message) {
    const auto number = world_->cancel_asked(message.job);
    auto promise = make_response_promise<CancelAnswered>();
    const auto owed = owed_.add(promise);
    state_->unanswered += 1;
    request(engine_.dispatcher, caf::infinite, message)
        .then(
            [this, number, owed](const CancelAnswered& answer) {
              state_->unanswered -= 1;
              world_->cancel_answered(number, answer);
              owed_.deliver(owed, answer);
            },
            [this, number, owed](caf::error& error) {
              state_->unanswered -= 1;
              world_->request_failed(number);
              owed_.deliver(owed, std::move(error));
            });
    return promise;
  }

  std::shared_ptr<World> world_;
  BatchEngine engine_;
  api::BatchDesk desk_;
  std::shared_ptr<Producers> producers_;
  std::shared_ptr<ClientState> state_;
  std::multimap<SteadyTime, Action> due_;
  std::map<std::uint64_t, Post> posts_;
  std::uint64_t last_post_ = 0;
  OpenPromises owed_;
  bool stopped_ = false;
};

}  // namespace

caf::actor spawn_producers(caf::actor_system& system, std::shared_ptr<World> world,
                           BatchEngine engine, std::shared_ptr<Producers> producers,
                           std::shared_ptr<ClientState> state) {
  return system.spawn<ProducersActor>(std::move(world), std::move(engine), std::move(producers),
                                      std::move(state));
}

}  // namespace simulation
