#include "src/cli/worker/deliverer.hpp"

namespace celld::cli {
namespace {

constexpr int status_ok = 200;
constexpr int status_invalid = 422;

}  // namespace

void Deliverer::run(LeaseClient& client) {
  for (;;) {
    const auto due = runs_.next_delivery();
    if (std::holds_alternative<Runs::Over>(due)) return;
    if (const auto* heartbeat = std::get_if<Runs::Heartbeat>(&due)) deliver(client, *heartbeat);
    if (const auto* reports = std::get_if<Runs::Reports>(&due)) deliver(client, *reports);
  }
}

void Deliverer::deliver(LeaseClient& client, const Runs::Heartbeat& heartbeat) {
  const auto answer = client.heartbeat(heartbeat.lease, heartbeat.body);
  if (const auto* term = std::get_if<LeaseTerm>(&answer)) {
    note_answer();
    return runs_.on_term(heartbeat, *term);
  }
  const auto& setback = std::get<Setback>(answer);
  if (setback.kind == Setback::Kind::lost) return runs_.on_lost(heartbeat.lease);
  if (setback.kind == Setback::Kind::invalid && heartbeat.body != "{}") {
    note_answer();
    return runs_.on_news_refused(heartbeat.lease, setback.text);
  }
  note_setback(setback);
  runs_.on_no_answer(heartbeat.lease);
}

void Deliverer::deliver(LeaseClient& client, const Runs::Reports& reports) {
  const auto answer = client.report(reports.reports);
  if (const auto* setback = std::get_if<Setback>(&answer)) {
    if (setback->kind == Setback::Kind::invalid)
      return deliver_apart(client, reports, setback->text);
    note_setback(*setback);
    for (const auto& lease : reports.leases) runs_.on_no_answer(lease);
    return;
  }
  note_answer();
  const auto& results = std::get<std::vector<LeaseClient::ReportResult>>(answer);
  for (std::size_t i = 0; i < reports.leases.size(); ++i) {
    if (results[i].status == status_ok) {
      runs_.on_reported(reports.leases[i]);
    } else if (results[i].status == status_invalid) {
      runs_.on_report_refused(reports.leases[i], results[i].faults);
    } else {
      runs_.on_lost(reports.leases[i]);
    }
  }
}

void Deliverer::deliver_apart(LeaseClient& client, const Runs::Reports& reports,
                              const std::string& reason) {
  note_answer();
  const std::size_t half = reports.leases.size() / 2;
  if (half == 0) return runs_.on_report_refused(reports.leases.front(), reason);
  Runs::Reports first;
  Runs::Reports second;
  for (std::size_t i = 0; i < reports.leases.size(); ++i) {
    Runs::Reports& part = i < half ? first : second;
    part.leases.push_back(reports.leases[i]);
    part.reports.push_back(reports.reports[i]);
  }
  deliver(client, first);
  deliver(client, second);
}

/// Logs only the first of several setbacks; note_answer logs that celld is back.
void Deliverer::note_setback(const Setback& setback) {
  if (!away_.exchange(true))
    log_.problem("heartbeats and reports cannot be delivered: " + setback.text);
}

void Deliverer::note_answer() {
  if (away_.exchange(false)) log_.note("heartbeats and reports are delivered again");
}

}  // namespace celld::cli
