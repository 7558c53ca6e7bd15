/* One session's loop: everything that a tick needs, made from one message, then moved by cycles.
 *
 * Making and destroying happen where there is time; `cycle` and what it calls neither allocate nor
 * wait nor log.
 */
#ifndef PROJECTED_CONTROL_ACTING_LOOP_H
#define PROJECTED_CONTROL_ACTING_LOOP_H

#include <memory>
#include <string>
#include <vector>

#include "arm_clock.h"
#include "arm_message.h"
#include "live_block.h"
#include "period_grid.h"

namespace projected_control {

/* What the manager has to offer a loop. */
struct Surroundings {
  std::vector<std::string> joints;   /* with position and velocity, in the order of the readings */
  std::vector<std::string> commands; /* with an effort, in the order of the commands */
  double period = 0.0;               /* [s] */
  int64_t record_ticks = 0;          /* how many ticks are kept from the beginning on */
  bool arm_clock = false;            /* readings have the arm's own time */
};

/* What a cycle reads, in the manager's order. */
struct Reading {
  const double *q = nullptr, *v = nullptr; /* by Surroundings::joints */
  const double *wrench = nullptr;          /* [6], or NULL where there is no sensor */
  int64_t time_ns = 0;                     /* the manager's time */
  double arm_seconds = 0.0;                /* the arm's own, NaN where it could not be read */
};

class ActingLoop {
 public:
  static constexpr int64_t instants = 64; /* ticks whose times a state reports */

  /* A loop, or NULL and why not. */
  static std::unique_ptr<ActingLoop> make(
      const Message &begin, const Surroundings &surroundings, Verdict &verdict);
  ~ActingLoop();
  ActingLoop(const ActingLoop &) = delete;
  ActingLoop &operator=(const ActingLoop &) = delete;

  /* Begins where another loop is: with its effort, the filter and integral of its force loop, and
   * what it knows of the disturbance. */
  void take_over(const ActingLoop &former);

  /* One tick; the effort by Surroundings::commands. No change is taken in silence. The status is
   * zero, or all efforts are. */
  int32_t cycle(const Reading &reading, bool silent, double *commands);

  /* Nothing is sent any more. */
  void release();

  /* A change from the deciding side, if it is one. */
  Verdict post(const Message &message);

  const Sizes &sizes() const { return sizes_; }
  double period() const { return period_; }
  double state_period() const { return state_period_; }
  double patience() const { return patience_; }
  int64_t action() const { return tick_.action; }
  int64_t events() const { return tick_.events; }
  double stamp() const { return tick_.stamp; }

  /* How long the last cycle took, for instants and record [ns]. */
  void note_duration(int64_t nanoseconds);

  /* What a state reports, put aside by the thread that ticks and written by another. */
  void put_aside();
  void write_state(Writer &writer) const;

  /* Rows of what was kept; see `record_columns`. */
  const std::vector<double> &record() const { return record_; }
  int64_t record_columns() const { return columns_; }
  int64_t recorded() const { return recorded_; }

 private:
  struct Joint {
    int64_t reading = -1; /* which reading, or -1 for one that follows another */
    int64_t leader = -1;
    double ratio = 1.0, offset = 0.0;
  };

  ActingLoop() = default;
  Verdict fill(const Message &begin, const Surroundings &surroundings);
  Verdict find_sizes(const Message &begin);
  Verdict bind(const Message &message);
  Verdict check_contents();
  Verdict check_pinocchio(const Message &begin);
  Verdict find_joints(const Message &begin, const Surroundings &surroundings);
  void place_stamp(const Reading &reading);
  void read_state(const Reading &reading);
  void read_wrench(const double *wrench);
  void remember(int64_t nanoseconds);

  Sizes sizes_;
  double period_ = 0.0, state_period_ = 0.0, patience_ = 0.0;
  projected_control_arm *arm_ = nullptr;
  struct projected_control_tick tick_{};
  struct projected_control_answer_silence silence_{};
  projected_control_loop loop_{};
  LiveBlock live_;
  Kept memory_;
  std::vector<Joint> joints_;
  std::vector<int64_t> commanded_; /* of each command: which joint, or -1 */

  int64_t ticks_ = 0, first_ns_ = 0;
  PeriodGrid grid_;
  bool has_clock_ = false, time_known_ = true;
  ArmClock clock_;
  double wrench_age_ = 0.0;
  std::vector<double> last_v_;

  std::vector<double> times_;  /* pairs of stamp and duration since the last state */
  int64_t timed_ = 0;
  std::vector<double> aside_;  /* q, v, wrench, effort, then the mirrored arrays */
  std::vector<double> times_aside_;
  int64_t timed_aside_ = 0;
  double stamp_aside_[2] = {0.0, 0.0};

  std::vector<double> record_;
  int64_t columns_ = 0, recorded_ = 0, room_ = 0;
};

}  // namespace projected_control

#endif
