// Who may command, and what becomes of it.

#include "session.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

namespace projected_control {
namespace {

constexpr size_t remembered = 1024;       // sessions that have been, whose numbers are not taken again
constexpr double idle_period = 0.1;       // between states while there is no session [s]
constexpr double late = 1.5;              // periods after which a cycle was missed

bool may_command(int64_t phase) {
  return phase == PROJECTED_CONTROL_PHASE_READY || phase == PROJECTED_CONTROL_PHASE_RUNNING;
}

}  // namespace

Session::Session(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

bool Session::Term::silent(int64_t now_ns) const {
  return static_cast<double>(now_ns - heard_ns.load(std::memory_order_relaxed)) >
         1e9 * loop->patience();
}

// Messages

Session::Answer Session::receive(const uint8_t *bytes, size_t size, int64_t now_ns) {
  const std::lock_guard<InheritingMutex> lock(mutex_);
  Message message;
  Answer answer;
  answer.verdict = message.read(bytes, size);
  if (answer.verdict.accepted()) answer.verdict = judge(message, now_ns);
  if (answer.verdict.accepted()) {
    ++accepted_;
    if (message.kind == PROJECTED_CONTROL_UPDATE_BEAT) return answer;
  } else {
    ++refused_;
    last_refusal_ = answer.verdict.status;
    last_reason_ = answer.verdict.reason;
  }
  Writer writer(
      PROJECTED_CONTROL_UPDATE_ACK, message.session, message.sequence, answer.verdict.status);
  writer.text(PROJECTED_CONTROL_SECTION_REASON, answer.verdict.reason);
  answer.acknowledgement = writer.finish();
  return answer;
}

Verdict Session::judge(const Message &message, int64_t now_ns) {
  if (message.kind == PROJECTED_CONTROL_UPDATE_BEGIN) return begin(message, now_ns);
  if (message.kind != PROJECTED_CONTROL_UPDATE_CHANGE &&
      message.kind != PROJECTED_CONTROL_UPDATE_BEAT && message.kind != PROJECTED_CONTROL_UPDATE_END)
    return refused(
        PROJECTED_CONTROL_STATUS_MALFORMED, "a message of kind %u is not for the plugin",
        message.kind);
  end_if_silent(now_ns);
  Term *term = offered();
  if (!term || message.session != term->session)
    return refused(
        PROJECTED_CONTROL_STATUS_SESSION, "session %016" PRIx64 " is not the one in force",
        message.session);
  const int64_t phase = term->phase.load();
  if (phase == PROJECTED_CONTROL_PHASE_ENDED || term->end.load())
    return refused(PROJECTED_CONTROL_STATUS_SESSION, "the session has ended: begin another");
  if (message.sequence <= term->sequence)
    return refused(
        PROJECTED_CONTROL_STATUS_ORDER, "number %" PRIu64 " came after number %" PRIu64,
        message.sequence, term->sequence);
  if (message.kind == PROJECTED_CONTROL_UPDATE_END) {
    term->sequence = message.sequence;
    term->end.store(true);
    if (!active_.load()) term->phase.store(PROJECTED_CONTROL_PHASE_ENDED);
    return {};
  }
  if (phase == PROJECTED_CONTROL_PHASE_SILENT || term->silent(now_ns))
    return refused(
        PROJECTED_CONTROL_STATUS_SILENT,
        "no message came for more than %g s, which ended the session: begin another",
        term->loop->patience());
  if (message.kind == PROJECTED_CONTROL_UPDATE_CHANGE)
    if (Verdict v = term->loop->post(message); !v.accepted()) return v;
  term->sequence = message.sequence;
  term->heard_ns.store(now_ns, std::memory_order_relaxed);
  return {};
}

Verdict Session::begin(const Message &message, int64_t now_ns) {
  end_if_silent(now_ns);
  Term *former = offered();
  const bool in_force = former && may_command(former->phase.load()) && !former->end.load();
  // The same once more, because the answer has not arrived: nothing changes. It is a sign of life as
  // long as the session waits to be switched on, for there are no others before the answer.
  if (in_force && message.session == former->session && message.check == former->beginning) {
    if (!active_.load()) former->heard_ns.store(now_ns);
    return {};
  }
  if (in_force && !former->silent(now_ns))
    return refused(
        PROJECTED_CONTROL_STATUS_BUSY,
        "session %016" PRIx64 " is in force and its heartbeat is heard", former->session);
  if (active_.load() && former && running_.load(std::memory_order_acquire) != former)
    return refused(
        PROJECTED_CONTROL_STATUS_BUSY, "the session that was begun last has not been taken yet");
  if (message.session == 0 ||
      std::find(past_.begin(), past_.end(), message.session) != past_.end())
    return refused(
        PROJECTED_CONTROL_STATUS_SESSION, "session %016" PRIx64 " was begun before",
        message.session);
  Verdict verdict;
  auto loop = ActingLoop::make(message, surroundings_, verdict);
  if (!loop) return verdict;
  auto term = std::make_unique<Term>();
  term->session = message.session;
  term->sequence = message.sequence;
  term->beginning = message.check;
  term->loop = std::move(loop);
  term->heard_ns.store(now_ns);
  if (past_.size() == remembered) past_.erase(past_.begin());
  past_.push_back(message.session);
  terms_.push_back(std::move(term));
  offered_.store(terms_.back().get(), std::memory_order_release);
  clear_up();
  return {};
}

// A session that was never switched on ends with its heartbeat: nothing else would notice.
void Session::end_if_silent(int64_t now_ns) {
  Term *term = offered();
  if (!term || active_.load() || !term->silent(now_ns)) return;
  int64_t phase = PROJECTED_CONTROL_PHASE_READY;
  term->phase.compare_exchange_strong(phase, PROJECTED_CONTROL_PHASE_ENDED);
}

// What neither thread can reach any more. A cycle reaches the term that it runs, or takes the one
// that is offered; a third one is not offered before that has happened.
void Session::clear_up() {
  const Term *const offered = this->offered(), *const running = running_.load();
  terms_.erase(
      std::remove_if(
          terms_.begin(), terms_.end(),
          [&](const std::unique_ptr<Term> &term) {
            return term.get() != offered && term.get() != running && term.get() != record_of_;
          }),
      terms_.end());
}

// Becoming active and inactive

Verdict Session::activate(int64_t now_ns) {
  const std::lock_guard<InheritingMutex> lock(mutex_);
  end_if_silent(now_ns);
  Term *term = offered();
  if (!term || term->phase.load() != PROJECTED_CONTROL_PHASE_READY) {
    const Verdict verdict = refused(
        PROJECTED_CONTROL_STATUS_SESSION,
        "no node has begun a session: activate a controller node of projected_control, which "
        "switches this controller on");
    not_activated_ = verdict.reason;
    return verdict;
  }
  not_activated_.clear();
  current_ = term;
  running_.store(term);
  record_of_ = nullptr;
  cycles_ = overruns_ = failed_ = events_since_ = 0;
  last_ns_ = 0;
  snapshot_ = idle;
  term->phase.store(PROJECTED_CONTROL_PHASE_RUNNING);
  active_.store(true);
  return {};
}

void Session::deactivate() {
  const std::lock_guard<InheritingMutex> lock(mutex_);
  active_.store(false);
  if (Term *term = offered()) term->phase.store(PROJECTED_CONTROL_PHASE_ENDED);
  record_of_ = current_;
  current_ = nullptr;
  snapshot_ = idle;
  gauges_ = {};
  gauges_.phase = PROJECTED_CONTROL_PHASE_ENDED;
}

// The thread that controls

void Session::cycle(const Reading &reading, int64_t now_ns, double *commands) {
  const int64_t begin = projected_control_nanoseconds();
  if (last_ns_ && static_cast<double>(reading.time_ns - last_ns_) > late * 1e9 * surroundings_.period)
    overruns_.fetch_add(1, std::memory_order_relaxed);
  last_ns_ = reading.time_ns;
  cycles_.fetch_add(1, std::memory_order_relaxed);
  if (Term *const next = offered(); next != current_) {
    if (current_) next->loop->take_over(*current_->loop);
    int64_t phase = PROJECTED_CONTROL_PHASE_READY;
    next->phase.compare_exchange_strong(phase, PROJECTED_CONTROL_PHASE_RUNNING);
    current_ = next;
    snapshot_.store(idle, std::memory_order_release);
    running_.store(next, std::memory_order_release);
  }
  for (size_t i = 0; i < surroundings_.commands.size(); ++i) commands[i] = 0.0;
  if (!current_) return;
  Term &term = *current_;
  if (term.end.load(std::memory_order_acquire)) {
    if (term.phase.load() != PROJECTED_CONTROL_PHASE_ENDED) {
      term.loop->release();
      term.phase.store(PROJECTED_CONTROL_PHASE_ENDED);
    }
    gauges_.phase = PROJECTED_CONTROL_PHASE_ENDED;
    return;
  }
  ActingLoop &loop = *term.loop;
  bool silent = term.phase.load() == PROJECTED_CONTROL_PHASE_SILENT;
  if (!silent && term.silent(now_ns)) {
    silent = true;
    term.phase.store(PROJECTED_CONTROL_PHASE_SILENT);
  }
  if (loop.cycle(reading, silent, commands) != 0) failed_.fetch_add(1, std::memory_order_relaxed);
  events_since_.fetch_or(loop.events(), std::memory_order_relaxed);
  const int64_t duration = projected_control_nanoseconds() - begin;
  loop.note_duration(duration);
  gauges_ = {
      static_cast<double>(term.phase.load()), static_cast<double>(loop.action()),
      static_cast<double>(loop.events()), 1e-3 * static_cast<double>(duration), loop.stamp()};
  if (snapshot_.load(std::memory_order_acquire) == wanted) {
    loop.put_aside();
    report_[0] = loop.action();
    report_[1] = loop.events();
    time_aside_ = reading.time_ns;
    snapshot_.store(ready, std::memory_order_release);
  }
}

// Reports

double Session::state_period() const {
  const std::lock_guard<InheritingMutex> lock(mutex_);
  const Term *term = offered();
  return term && term->phase.load() != PROJECTED_CONTROL_PHASE_ENDED ? term->loop->state_period()
                                                                    : idle_period;
}

Session::Summary Session::summary(int64_t now_ns) const {
  const std::lock_guard<InheritingMutex> lock(mutex_);
  const Term *term = offered();
  return {term ? term->phase.load() : int64_t{PROJECTED_CONTROL_PHASE_IDLE},
          cycles_.load(), overruns_.load(), failed_.load(), accepted_, refused_, last_refusal_,
          term ? 1e-9 * static_cast<double>(now_ns - term->heard_ns.load()) : 0.0, last_reason_,
          not_activated_};
}

std::vector<uint8_t> Session::state(int64_t time_ns, int64_t now_ns) {
  const std::lock_guard<InheritingMutex> lock(mutex_);
  end_if_silent(now_ns);
  const Term *term = offered();
  const int64_t phase = term ? term->phase.load() : int64_t{PROJECTED_CONTROL_PHASE_IDLE};
  const bool runs =
      active_.load() && term && running_.load(std::memory_order_acquire) == term &&
      (phase == PROJECTED_CONTROL_PHASE_RUNNING || phase == PROJECTED_CONTROL_PHASE_SILENT);
  if (runs && snapshot_.load(std::memory_order_acquire) != ready) {
    int before = idle;
    snapshot_.compare_exchange_strong(before, wanted);
    return {};
  }
  int64_t report[PROJECTED_CONTROL_REPORT_RATE + 1] = {};
  report[PROJECTED_CONTROL_REPORT_PHASE] = phase;
  report[PROJECTED_CONTROL_REPORT_ACTION] = runs ? report_[0] : int64_t{PROJECTED_CONTROL_ACTION_ZERO};
  report[PROJECTED_CONTROL_REPORT_EVENTS] = runs ? report_[1] : 0;
  report[PROJECTED_CONTROL_REPORT_EVENTS_SINCE] = events_since_.exchange(0);
  report[PROJECTED_CONTROL_REPORT_CYCLES] = cycles_.load();
  report[PROJECTED_CONTROL_REPORT_OVERRUNS] = overruns_.load();
  report[PROJECTED_CONTROL_REPORT_ACCEPTED] = accepted_;
  report[PROJECTED_CONTROL_REPORT_REFUSED] = refused_;
  report[PROJECTED_CONTROL_REPORT_LAST_REFUSAL] = last_refusal_;
  report[PROJECTED_CONTROL_REPORT_RATE] = std::lround(1.0 / surroundings_.period);
  Writer writer(
      PROJECTED_CONTROL_UPDATE_STATE, term ? term->session : 0,
      static_cast<uint64_t>(cycles_.load()));
  writer.text(PROJECTED_CONTROL_SECTION_REASON, last_reason_);
  writer.wholes(PROJECTED_CONTROL_SECTION_REPORT, report, PROJECTED_CONTROL_REPORT_RATE + 1);
  const int64_t stamp = runs ? time_aside_ : time_ns;
  writer.wholes(PROJECTED_CONTROL_SECTION_STAMP_NS, &stamp, 1);
  if (runs) {
    term->loop->write_state(writer);
    snapshot_.store(idle, std::memory_order_release);
  }
  return writer.finish();
}

bool Session::take_record(std::vector<double> &rows, int64_t &columns, int64_t &joints) {
  const std::lock_guard<InheritingMutex> lock(mutex_);
  if (!record_of_ || active_.load()) return false;
  const ActingLoop &loop = *record_of_->loop;
  record_of_ = nullptr;
  columns = loop.record_columns();
  joints = loop.sizes().n;
  rows.assign(loop.record().begin(), loop.record().begin() + columns * loop.recorded());
  return loop.recorded() > 0;
}

}  // namespace projected_control
