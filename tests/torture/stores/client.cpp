#include "tests/torture/stores/client.hpp"

#include <map>
#include <type_traits>
#include <utility>

namespace stores {
namespace {

class Client {
 public:
  using Pointer = caf::stateful_actor<Client>*;

  void start(Pointer self, JobStore store, JobReader reader, std::shared_ptr<const History> history,
             std::shared_ptr<Record> record, Wrong wrong,
             std::shared_ptr<const celld::store::MemoryDisk> start) {
    self_ = self;
    store_ = std::move(store);
    reader_ = std::move(reader);
    history_ = std::move(history);
    record_ = std::move(record);
    wrong_ = wrong;
    start_ = std::move(start);
  }

  void ask(std::size_t number) {
    const auto& request = history_->operations[number].request;
    ++record_->sent;
    if (wrong_.dropped == request.index()) return;
    std::visit([&](const auto& each) { forward(number, each); }, request);
  }

  void watch(std::size_t number) {
    std::visit([&](const auto& each) { look(number, each); }, history_->looks[number]);
  }

 private:
  void forward(std::size_t, const ClaimJob& request) { self_->send(store_, request); }
  void forward(std::size_t, const HoldJob& request) { self_->send(store_, request); }
  void forward(std::size_t, const ChangeLane& request) { self_->send(store_, request); }
  template <class Request>
  void forward(std::size_t number, const Request& request) {
    using Result = decltype(std::declval<celld::store::MemoryJobs&>().apply(request));
    using Plain =
        std::conditional_t<std::is_same_v<Result, std::optional<JobInserted>>, JobInserted, Result>;
    self_->request(store_, caf::infinite, request)
        .then([this, number](Plain& answer) { answered(number, std::move(answer)); },
              [this, number](const caf::error& error) { refused(number, error); });
  }

  void look(std::size_t number, const CountNeeds& request) {
    const std::size_t from = record_->sent;
    self_->request(store_, caf::infinite, request)
        .then(
            [this, number, from](NeedsCounted& answer) {
              note(record_->counted, {number, from, record_->sent, std::move(answer)});
            },
            [this](const caf::error& error) { failed(error); });
  }
  template <class Request>
  void look(std::size_t number, const Request& request) {
    using Result = decltype(start_->read(request));
    const std::size_t from = record_->durable;
    self_->request(reader_, caf::infinite, request)
        .then(
            [this, number, from](Result& answer) {
              note(record_->looked, {number, from, record_->sent, std::move(answer)});
            },
            [this](const caf::error& error) {
              record_->violate("the reader failed: " + self_->system().render(error));
            });
  }

  void note(std::vector<Looked>& to, Looked looked) {
    if (wrong_.stale_looks) {
      looked.answer = std::visit([&](const auto& each) -> Answer { return start_->read(each); },
                                 history_->looks[looked.look]);
    }
    if (wrong_.answer) alter(looked.answer, *wrong_.answer);
    to.push_back(std::move(looked));
  }

  void answered(std::size_t number, Answer answer) {
    const auto& operation = history_->operations[number];
    if (wrong_.answer) alter(answer, *wrong_.answer);
    if (record_->failed) {
      // The part in memory ends a little later.
      if (!history_->both_kinds) record_->violate("the store answers after its failure");
      return;
    }
    if (!is_expected(answer, operation.expected)) {
      return record_->violate("operation " + std::to_string(number) + ", " +
                              to_text(operation.request) + "\n  expected " +
                              to_text(operation.expected) + "\n  answered " + to_text(answer));
    }
    std::size_t& last = last_answered_[operation.scope];
    if (operation.scope != Scope::asks_first && last > number) {
      record_->violate("operation " + std::to_string(number) + " was answered after a later one");
    }
    last = number;
    record_->answered.push_back(number);
    record_->durable = std::max(record_->durable, operation.durable);
  }

  bool is_expected(const Answer& answer, const Answer& expected) const {
    if (!history_->both_kinds) return is_same(answer, expected);
    Answer blurred = answer;
    Answer expected_blurred = expected;
    blur(blurred);
    blur(expected_blurred);
    return is_same(blurred, expected_blurred);
  }

  void refused(std::size_t number, const caf::error& error) {
    if (error != caf::sec::invalid_argument) return failed(error);
    const auto& operation = history_->operations[number];
    if (std::holds_alternative<IdInUse>(operation.expected)) return;
    record_->violate("operation " + std::to_string(number) + ", " + to_text(operation.request) +
                     "\n  was refused");
  }

  void failed(const caf::error& error) {
    record_->failed = true;
    if (!record_->may_fail) record_->violate("the store failed: " + self_->system().render(error));
    if (record_->fatal_reports != 1)
      record_->violate("the store failed without a report, or with two");
  }

  Pointer self_ = nullptr;
  JobStore store_;
  JobReader reader_;
  std::shared_ptr<const History> history_;
  std::shared_ptr<Record> record_;
  std::map<Scope, std::size_t> last_answered_;
  Wrong wrong_;
  std::shared_ptr<const celld::store::MemoryDisk> start_;
};

caf::behavior client(Client::Pointer self, const JobStore& store, const JobReader& reader,
                     const std::shared_ptr<const History>& history,
                     const std::shared_ptr<Record>& record, const Wrong& wrong,
                     const std::shared_ptr<const celld::store::MemoryDisk>& start) {
  self->state.start(self, store, reader, history, record, wrong, start);
  return {[self](Ask order) { self->state.ask(order.operation); },
          [self](Watch order) { self->state.watch(order.look); }};
}

}  // namespace

caf::actor spawn_client(caf::actor_system& system, JobStore store, JobReader reader,
                        std::shared_ptr<const History> history, std::shared_ptr<Record> record,
                        Wrong wrong, std::shared_ptr<const celld::store::MemoryDisk> start) {
  return system.spawn(client, std::move(store), std::move(reader), std::move(history),
                      std::move(record), wrong, std::move(start));
}

}  // namespace stores
