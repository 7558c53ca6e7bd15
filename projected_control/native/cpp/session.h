/* Who may command, and what becomes of it: the plugin without ros2_control.
 *
 * `cycle` belongs to the thread that controls: it neither allocates nor waits nor logs. Everything
 * else may be called from any other thread, and between cycles from that one too.
 *
 * A term is one session from its begin to its end. A new one is built beside the old one and taken
 * at the beginning of a cycle, whole; changes go through the mailbox, whole or not at all. A term
 * that has ended, or whose heartbeat was missed, never accepts another change.
 */
#ifndef PROJECTED_CONTROL_SESSION_H
#define PROJECTED_CONTROL_SESSION_H

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acting_loop.h"
#include "inheriting_mutex.h"

namespace projected_control {

class Session {
 public:
  explicit Session(Surroundings surroundings);

  struct Answer {
    Verdict verdict;
    std::vector<uint8_t> acknowledgement; /* empty where nothing is acknowledged */
  };

  /* A message from the deciding side, and when it came by the steady clock [ns]. */
  Answer receive(const uint8_t *bytes, size_t size, int64_t now_ns);

  /* The controller becomes active, or may not. */
  Verdict activate(int64_t now_ns);
  void deactivate();

  /* One cycle: what is sent to each of Surroundings::commands. */
  void cycle(const Reading &reading, int64_t now_ns, double *commands);

  /* What there is to report, as a message. Of a running loop it is asked for with one call, which
   * gives nothing, put aside by the next cycle, and given by the call after that. */
  std::vector<uint8_t> state(int64_t time_ns, int64_t now_ns);

  /* Time from one state to the next [s]. */
  double state_period() const;

  struct Summary {
    int64_t phase, cycles, overruns, failed, accepted, refused, last_refusal;
    double silent_seconds; /* since the last message of the session, or 0 */
    std::string reason;    /* of the last refusal */
    std::string not_activated; /* why it could not become active the last time; empty if it could */
  };
  Summary summary(int64_t now_ns) const;

  /* The rows recorded by the term that ended last, once: number of columns, n, rows. */
  bool take_record(std::vector<double> &rows, int64_t &columns, int64_t &joints);

  /* For introspection: plain numbers that stay where they are. */
  struct Gauges {
    double phase = 0.0, action = 0.0, events = 0.0, duration_us = 0.0, stamp = 0.0;
  };
  const Gauges &gauges() const { return gauges_; }

 private:
  struct Term {
    uint64_t session = 0, sequence = 0; /* the sequence number of the last accepted message */
    uint32_t beginning = 0;             /* checksum of the message that began it */
    std::unique_ptr<ActingLoop> loop;
    std::atomic<int64_t> phase{PROJECTED_CONTROL_PHASE_READY};
    std::atomic<int64_t> heard_ns{0};
    std::atomic<bool> end{false};

    bool silent(int64_t now_ns) const;
  };

  enum Snapshot { idle, wanted, ready };

  Verdict judge(const Message &message, int64_t now_ns);
  Verdict begin(const Message &message, int64_t now_ns);
  Term *offered() const { return offered_.load(std::memory_order_acquire); }
  void end_if_silent(int64_t now_ns);
  void clear_up();

  const Surroundings surroundings_;
  mutable InheritingMutex mutex_; /* of all but cycle */
  std::vector<std::unique_ptr<Term>> terms_;
  std::vector<uint64_t> past_; /* sessions that were begun */
  std::atomic<Term *> offered_{nullptr}, running_{nullptr};
  std::atomic<bool> active_{false};
  int64_t accepted_ = 0, refused_ = 0, last_refusal_ = 0;
  std::string last_reason_, not_activated_;
  Term *record_of_ = nullptr;

  /* Of the thread that controls. */
  Term *current_ = nullptr;
  int64_t last_ns_ = 0;
  std::atomic<int64_t> cycles_{0}, overruns_{0}, failed_{0}, events_since_{0};
  std::atomic<int> snapshot_{idle};
  int64_t report_[2] = {0, 0}; /* action and events at the snapshot */
  int64_t time_aside_ = 0;
  Gauges gauges_;
};

}  // namespace projected_control

#endif
