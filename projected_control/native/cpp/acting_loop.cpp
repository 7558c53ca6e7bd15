// One session's loop, made from one message.

#include "acting_loop.h"

#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>

namespace projected_control {
namespace {

constexpr int64_t bad_size = PROJECTED_CONTROL_STATUS_SIZE;
constexpr int64_t bad_value = PROJECTED_CONTROL_STATUS_VALUE;
constexpr int64_t bad_joints = PROJECTED_CONTROL_STATUS_JOINTS;

void copy(const double *from, double *to, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(double));
}

bool finite(const double *numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(numbers[i])) return false;
  return true;
}

int64_t place_of(const std::string &name, const std::vector<std::string> &names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<int64_t>(i);
  return -1;
}

}  // namespace

std::unique_ptr<ActingLoop> ActingLoop::make(
    const Message &begin, const Surroundings &surroundings, Verdict &verdict) {
  std::unique_ptr<ActingLoop> loop(new ActingLoop);
  verdict = loop->fill(begin, surroundings);
  if (!verdict.accepted()) loop.reset();
  return loop;
}

ActingLoop::~ActingLoop() {
  if (arm_) projected_control_arm_destroy(arm_);
}

Verdict ActingLoop::fill(const Message &begin, const Surroundings &surroundings) {
  if (Verdict v = begin.expect(PROJECTED_CONTROL_SECTION_PERIOD, 1); !v.accepted()) return v;
  period_ = begin.section(PROJECTED_CONTROL_SECTION_PERIOD).reals()[0];
  if (!(std::fabs(period_ - surroundings.period) <= 1e-6 * surroundings.period))
    return refused(
        PROJECTED_CONTROL_STATUS_PERIOD,
        "the loop was made for %.6g Hz, the controller is updated at %.6g Hz: set the node's rate "
        "or the controller's update_rate", 1.0 / period_, 1.0 / surroundings.period);
  if (Verdict v = find_sizes(begin); !v.accepted()) return v;
  if (Verdict v = find_joints(begin, surroundings); !v.accepted()) return v;
  Verdict verdict;
  arm_ = arm_from(begin, sizes_.n, verdict);
  if (!arm_) return verdict;
  sizes_.places = projected_control_arm_pass(arm_).places;
  if (Verdict v = bind(begin); !v.accepted()) return v;
  if (Verdict v = check_contents(); !v.accepted()) return v;
  if (Verdict v = check_pinocchio(begin); !v.accepted()) return v;
  if (Verdict v = live_.begin(begin, tick_, sizes_, period_); !v.accepted()) return v;

  const int64_t n = sizes_.n;
  times_.assign(2 * instants, 0.0);
  times_aside_ = times_;
  last_v_.assign(static_cast<size_t>(n), 0.0);
  int64_t mirrored = 3 * n + 6 + silence_.silence_shape[0] + live_.applied();
#define PROJECTED_CONTROL_COUNT(id, field) mirrored += tick_.field##_shape[0];
  PROJECTED_CONTROL_MIRRORED_SECTIONS(PROJECTED_CONTROL_COUNT)
#undef PROJECTED_CONTROL_COUNT
  aside_.assign(static_cast<size_t>(mirrored), 0.0);
  columns_ = 3 * n + 12;
  room_ = surroundings.record_ticks;
  has_clock_ = surroundings.arm_clock;
  record_.assign(static_cast<size_t>(room_ * columns_), 0.0);
  return {};
}

Verdict ActingLoop::find_sizes(const Message &begin) {
  if (Verdict v = begin.expect(PROJECTED_CONTROL_SECTION_SIZES, 4); !v.accepted()) return v;
  const int64_t *sizes = begin.section(PROJECTED_CONTROL_SECTION_SIZES).wholes();
  sizes_.n = begin.section(PROJECTED_CONTROL_SECTION_KINDS).count;
  sizes_.m = sizes[1];
  sizes_.k = sizes[2];
  sizes_.frames = sizes[3];
  sizes_.p = begin.section(PROJECTED_CONTROL_SECTION_PASSIVE).count;
  sizes_.motion = begin.section(PROJECTED_CONTROL_SECTION_REFERENCE).count;
  sizes_.force = begin.section(PROJECTED_CONTROL_SECTION_FORCE_REFERENCE).count;
  if (sizes_.n < 1 || sizes_.n > most_joints)
    return refused(bad_size, "%" PRId64 " joints, from 1 to %" PRId64 " are possible", sizes_.n,
                   most_joints);
  for (const int64_t size : {sizes_.m, sizes_.k, sizes_.frames})
    if (size < 0 || size > most_joints)
      return refused(bad_size, "%" PRId64 " rows, coordinates or frames", size);
  if (sizes_.p > sizes_.n) return refused(bad_size, "more passive joints than joints");
  if (sizes[0] != 0)
    return refused(bad_value, "the constraint is computed in Python: it cannot be followed here");
  return {};
}

Verdict ActingLoop::find_joints(const Message &begin, const Surroundings &surroundings) {
  const int64_t n = sizes_.n;
  const std::vector<std::string> names = names_in(begin.section(PROJECTED_CONTROL_SECTION_JOINTS));
  if (static_cast<int64_t>(names.size()) != n)
    return refused(bad_joints, "%zu joints have names, there are %" PRId64, names.size(), n);
  for (const auto &[id, count] : {std::pair<uint32_t, int64_t>{PROJECTED_CONTROL_SECTION_OFFSETS, n},
                                  {PROJECTED_CONTROL_SECTION_MIMIC, 3 * n}}) {
    if (Verdict v = begin.expect(id, count); !v.accepted()) return v;
    if (!finite(begin.section(id).reals(), count))
      return refused(bad_value, "an offset or ratio of a joint is not finite");
  }
  const double *offsets = begin.section(PROJECTED_CONTROL_SECTION_OFFSETS).reals();
  const double *mimic = begin.section(PROJECTED_CONTROL_SECTION_MIMIC).reals();
  joints_.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    Joint &joint = joints_[static_cast<size_t>(i)];
    const std::string &name = names[static_cast<size_t>(i)];
    joint.reading = place_of(name, surroundings.joints);
    joint.offset = offsets[i];
    if (joint.reading >= 0) continue;
    const double leader = mimic[3 * i];
    if (!(leader >= 0.0 && leader < static_cast<double>(n) && leader == std::floor(leader)))
      return refused(
          bad_joints, "joint %s is not among the controller's parameter joints", name.c_str());
    joint.leader = static_cast<int64_t>(leader);
    joint.ratio = mimic[3 * i + 1];
    joint.offset = mimic[3 * i + 2];
  }
  for (const Joint &joint : joints_)
    if (joint.leader >= 0 && joints_[static_cast<size_t>(joint.leader)].leader >= 0)
      return refused(bad_joints, "a joint follows one that follows another");
  const Section &passive = begin.section(PROJECTED_CONTROL_SECTION_PASSIVE);
  std::vector<bool> motor(static_cast<size_t>(n), true);
  for (int64_t i = 0; i < passive.count; ++i) {
    const int64_t joint = passive.wholes()[i];
    if (joint < 0 || joint >= n) return refused(bad_value, "passive joint %" PRId64, joint);
    motor[static_cast<size_t>(joint)] = false;
  }
  commanded_.clear();
  for (const std::string &name : surroundings.commands) {
    const int64_t joint = place_of(name, names);
    commanded_.push_back(joint);
    if (joint >= 0) motor[static_cast<size_t>(joint)] = false;
  }
  for (size_t i = 0; i < motor.size(); ++i)
    if (motor[i])
      return refused(
          bad_joints, "joint %s needs a motor and is not among the controller's command_joints",
          names[i].c_str());
  return {};
}

Verdict ActingLoop::bind(const Message &message) {
  const int64_t n = sizes_.n, m = sizes_.m, k = sizes_.k, p = sizes_.p, frames = sizes_.frames;
  const int64_t motion = sizes_.motion, force = sizes_.force, functions = m + k;
  const int64_t extra = message.section(PROJECTED_CONTROL_SECTION_FUNCTIONS).count -
                        projected_control_table_terms_size(frames, functions, n, 0);
  if (extra < 0) return refused(bad_size, "the table of functions is too short");
  Kept &memory = memory_;
#define PROJECTED_CONTROL_TABLE any_length
#define PROJECTED_CONTROL_AT_LEAST(number) (number) + extra
#define PROJECTED_CONTROL_TAKE(id, field, type, dimensions, number) \
  PROJECTED_CONTROL_BIND(tick_, id, field, type, dimensions, number)
  PROJECTED_CONTROL_TICK_SECTIONS(PROJECTED_CONTROL_TAKE)
#undef PROJECTED_CONTROL_TAKE
#define PROJECTED_CONTROL_TAKE(id, field, type, dimensions, number) \
  PROJECTED_CONTROL_BIND(silence_, id, field, type, dimensions, number)
  PROJECTED_CONTROL_SILENCE_SECTIONS(PROJECTED_CONTROL_TAKE)
#undef PROJECTED_CONTROL_TAKE
#undef PROJECTED_CONTROL_TABLE
#undef PROJECTED_CONTROL_AT_LEAST
  const auto share = [](auto *from, const int64_t *shape, auto *&to, int64_t *its_shape) {
    to = from;
    its_shape[0] = shape[0];
  };
  share(tick_.sizes, tick_.sizes_shape, silence_.sizes, silence_.sizes_shape);
  share(tick_.choices, tick_.choices_shape, silence_.choices, silence_.choices_shape);
  share(tick_.control_work, tick_.control_work_shape, silence_.control_work,
        silence_.control_work_shape);
  share(tick_.reference, tick_.reference_shape, silence_.reference, silence_.reference_shape);
  share(tick_.force_reference, tick_.force_reference_shape, silence_.force_reference,
        silence_.force_reference_shape);

  use_pass(arm_, n, tick_);
  tick_.coriolis = projected_control_arm_pass(arm_).coriolis;
  tick_.coriolis_shape[0] = tick_.coriolis_shape[1] = n;

  const std::vector<double> nothing(static_cast<size_t>(n) + 6, 0.0);
  tick_.q = memory.keep(nothing.data(), n);
  tick_.v = memory.keep(nothing.data(), n);
  tick_.wrench = memory.keep(nothing.data(), 6);
  tick_.q_shape[0] = tick_.v_shape[0] = n;
  tick_.wrench_shape[0] = 6;
  loop_.arm = arm_;
  loop_.tick = &tick_;
  loop_.effort = projected_control_guard_terms_view(tick_.guard_work, n, k).sent;
  const auto control = projected_control_control_terms_view(tick_.control_work, n, m, k, p);
  const double observer = PROJECTED_CONTROL_DISTURBANCE_KIND_OBSERVER;
  loop_.needs_coriolis = tick_.choices[1] == PROJECTED_CONTROL_SOURCE_KIND_MOMENTUM ||
                         control.disturbance_kind[0] == observer || control.collision[0] > 0.0;
  return {};
}

Verdict ActingLoop::check_contents() {
  const int64_t n = sizes_.n, m = sizes_.m, k = sizes_.k;
  const auto last = static_cast<double>(sizes_.places - 1);  // on which a frame may sit
  for (const auto &[name, table, count, size, empty] :
       {std::tuple<const char *, const double *, int64_t, int64_t, bool>{
            "reference", tick_.reference, tick_.reference_shape[0], k, true},
        {"force reference", tick_.force_reference, tick_.force_reference_shape[0], m, true},
        {"target", tick_.target, tick_.target_shape[0], m, true}})
    if (Verdict v = check_table(name, table, count, size, empty); !v.accepted()) return v;
  if (tick_.reference[1] < 3.0 || (m > 0 && tick_.force_reference[1] < 3.0))
    return refused(bad_size, "a table of references is too short for the three pieces of a stop");
  const double nothing = -1.0;
  if (Verdict v = check_block(tick_.mailbox, &nothing, sizes_, period_); !v.accepted()) return v;
  if (Verdict v = check_limits(tick_.guard_work, n, k, period_); !v.accepted()) return v;
  if (tick_.choices[0] < 0 || tick_.choices[0] > PROJECTED_CONTROL_LAW_LAST)
    return refused(bad_value, "there is no law %" PRId64, tick_.choices[0]);
  if (tick_.choices[0] == PROJECTED_CONTROL_LAW_RESOLVED_RATE)
    return refused(bad_value, "the law sends velocities: here efforts are sent");
  if (tick_.choices[3] != 0)
    return refused(bad_value, "the gains are changed by Python: they cannot be followed here");
  const auto table = projected_control_table_terms_view(
      tick_.functions, sizes_.frames, m + k, n, 0);
  for (int64_t frame = 0; frame < sizes_.frames; ++frame) {
    const double joint = table.anchors[frame * (4 + n)];
    if (!(joint >= 0.0 && joint <= last))
      return refused(bad_value, "a frame sits on joint %g", joint);
  }
  const auto control =
      projected_control_control_terms_view(tick_.control_work, n, m, k, sizes_.p);
  const auto task = projected_control_task_terms_view(control.task, n, k);
  if (!(task.axes_joint[0] >= 0.0 && task.axes_joint[0] <= last))
    return refused(bad_value, "the task axes sit on joint %g", task.axes_joint[0]);
  for (int64_t i = 0; i < k; ++i) {
    if (!(task.level[i] >= 1.0 && task.level[i] <= static_cast<double>(k)))
      return refused(bad_value, "a coordinate has the priority %g", task.level[i]);
    if (task.triples[i] != 0.0 && i + 3 > k)
      return refused(bad_value, "three coordinates of a vector begin at the last but one");
  }
  const auto source = projected_control_source_terms_view(tick_.source_work, n, m);
  if (!(source.joint[0] >= 0.0 && source.joint[0] <= last))
    return refused(bad_value, "the sensor sits on joint %g", source.joint[0]);
  if (std::fabs(source.sign[0]) != 1.0)
    return refused(bad_value, "the sign of the wrench is %g, expected is 1 or -1", source.sign[0]);
  const auto silence = projected_control_silence_terms_view(silence_.silence, m, k);
  patience_ = silence.patience[0];
  if (!(patience_ > 0.0 && silence.seconds[0] > 0.0 && std::isfinite(patience_ + silence.seconds[0])))
    return refused(bad_value, "the times of silence and stop must be positive");
  if (!(silence.answer[0] >= 0.0 && silence.answer[0] <= PROJECTED_CONTROL_SILENCE_ANSWER_FINISH))
    return refused(bad_value, "there is no answer %g to silence", silence.answer[0]);
  return {};
}

Verdict ActingLoop::check_pinocchio(const Message &begin) {
  const int64_t n = sizes_.n;
  if (Verdict v = begin.expect(PROJECTED_CONTROL_SECTION_CHECK, 3 * n + n * n); !v.accepted())
    return v;
  if (Verdict v = begin.expect(PROJECTED_CONTROL_SECTION_STATE_PERIOD, 1); !v.accepted()) return v;
  state_period_ = begin.section(PROJECTED_CONTROL_SECTION_STATE_PERIOD).reals()[0];
  if (!(state_period_ > 0.0)) return refused(bad_value, "the time between states must be positive");
  const double *check = begin.section(PROJECTED_CONTROL_SECTION_CHECK).reals();
  if (!finite(check, 3 * n + n * n)) return refused(bad_value, "Pinocchio's check is not finite");
  return check_pass(arm_, check, n);
}

void ActingLoop::take_over(const ActingLoop &former) {
  if (former.sizes_.n != sizes_.n) return;
  copy(former.loop_.effort, loop_.effort, sizes_.n);
  const auto ours = projected_control_control_terms_view(
      tick_.control_work, sizes_.n, sizes_.m, sizes_.k, sizes_.p);
  const auto theirs = projected_control_control_terms_view(
      former.tick_.control_work, former.sizes_.n, former.sizes_.m, former.sizes_.k,
      former.sizes_.p);
  if (former.sizes_.m == sizes_.m) copy(theirs.force_state, ours.force_state, 2 * sizes_.m);
  if (theirs.disturbance_kind[0] != ours.disturbance_kind[0]) return;
  copy(theirs.disturbance, ours.disturbance, sizes_.n);
  if (former.sizes_.k == sizes_.k) copy(theirs.integral, ours.integral, sizes_.k);
}

void ActingLoop::place_stamp(const Reading &reading) {
  if (has_clock_) {  // when the state was measured, not when a thread woke up to read it
    const double seconds = clock_.since_first(reading.arm_seconds, reading.time_ns);
    time_known_ = std::isfinite(seconds);
    if (time_known_) tick_.stamp = seconds;
    else tick_.stamp += period_;  // about then: a stop that begins now needs a beginning
    return;
  }
  const int64_t time_ns = reading.time_ns;
  const int64_t period = std::lround(1e9 * period_);
  if (ticks_ == 0) {
    first_ns_ = time_ns;
    grid_ = PeriodGrid(period);
    grid_.begin(time_ns);
  } else if (time_ns < grid_.at() - period) {
    grid_.begin(time_ns);  // time went back, which the guard answers
  } else {
    grid_.advance(time_ns);
  }
  tick_.stamp = 1e-9 * static_cast<double>(grid_.at() - first_ns_);
}

void ActingLoop::read_state(const Reading &reading) {
  for (size_t i = 0; i < joints_.size(); ++i) {
    const Joint &joint = joints_[i];
    if (joint.reading < 0) continue;
    tick_.q[i] = reading.q[joint.reading] + joint.offset;
    tick_.v[i] = reading.v[joint.reading];
  }
  for (size_t i = 0; i < joints_.size(); ++i) {
    const Joint &joint = joints_[i];
    if (joint.leader < 0) continue;
    tick_.q[i] = joint.ratio * tick_.q[joint.leader] + joint.offset;
    tick_.v[i] = joint.ratio * tick_.v[joint.leader];
  }
  if (!time_known_) tick_.q[0] = std::nan("");  // a state of no known time is none
}

void ActingLoop::read_wrench(const double *wrench) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const auto n = static_cast<size_t>(sizes_.n);
  const bool moves = std::memcmp(last_v_.data(), tick_.v, n * sizeof(double)) != 0;
  std::memcpy(last_v_.data(), tick_.v, n * sizeof(double));
  if (!wrench || !finite(wrench, 6)) {
    for (int i = 0; i < 6; ++i) tick_.wrench[i] = std::nan("");
    wrench_age_ = 0.0;
    tick_.wrench_age = never;
    return;
  }
  // A reading that is the same to the last bit while the arm moves is an old one.
  const bool same = ticks_ > 0 && std::memcmp(wrench, tick_.wrench, 6 * sizeof(double)) == 0;
  if (!same) wrench_age_ = 0.0;
  else if (moves) wrench_age_ += period_;
  copy(wrench, tick_.wrench, 6);
  tick_.wrench_age = wrench_age_;
}

int32_t ActingLoop::cycle(const Reading &reading, bool silent, double *commands) {
  place_stamp(reading);
  read_state(reading);
  read_wrench(reading.wrench);
  live_.take(silent, tick_, silence_, arm_);
  silence_.silent = silent;
  silence_.stamp = tick_.stamp;
  int32_t status = projected_control_answer_silence(&silence_);
  if (status == 0) status = projected_control_answer(&loop_);
  if (status != 0) release();
  for (size_t i = 0; i < commanded_.size(); ++i)
    commands[i] = commanded_[i] < 0 ? 0.0 : loop_.effort[commanded_[i]];
  ++ticks_;
  return status;
}

void ActingLoop::release() {
  for (int64_t i = 0; i < sizes_.n; ++i) loop_.effort[i] = 0.0;
  tick_.action = PROJECTED_CONTROL_ACTION_ZERO;
}

Verdict ActingLoop::post(const Message &message) { return live_.post(message); }

void ActingLoop::note_duration(int64_t nanoseconds) {
  if (timed_ < instants) {
    times_[static_cast<size_t>(2 * timed_)] = tick_.stamp;
    times_[static_cast<size_t>(2 * timed_ + 1)] = static_cast<double>(nanoseconds);
    ++timed_;
  }
  if (recorded_ < room_) remember(nanoseconds);
}

void ActingLoop::remember(int64_t nanoseconds) {
  const int64_t n = sizes_.n;
  double *row = record_.data() + columns_ * recorded_++;
  *row++ = tick_.stamp;
  *row++ = tick_.wrench_age;
  for (const auto &[from, count] : {std::pair<const double *, int64_t>{tick_.q, n},
                                    {tick_.v, n},
                                    {tick_.wrench, 6},
                                    {loop_.effort, n}}) {
    copy(from, row, count);
    row += count;
  }
  *row++ = static_cast<double>(tick_.action);
  *row++ = static_cast<double>(tick_.events);
  *row++ = static_cast<double>(nanoseconds);
  *row++ = tick_.taken[0];
}

void ActingLoop::put_aside() {
  const int64_t n = sizes_.n;
  double *to = aside_.data();
  const auto put = [&to](const double *from, int64_t count) {
    copy(from, to, count);
    to += count;
  };
  put(tick_.q, n);
  put(tick_.v, n);
  put(tick_.wrench, 6);
  put(loop_.effort, n);
  put(silence_.silence, silence_.silence_shape[0]);
  put(tick_.taken, live_.applied());
#define PROJECTED_CONTROL_PUT(id, field) put(tick_.field, tick_.field##_shape[0]);
  PROJECTED_CONTROL_MIRRORED_SECTIONS(PROJECTED_CONTROL_PUT)
#undef PROJECTED_CONTROL_PUT
  stamp_aside_[0] = tick_.stamp;
  stamp_aside_[1] = tick_.wrench_age;
  times_aside_.swap(times_);
  timed_aside_ = timed_;
  timed_ = 0;
}

void ActingLoop::write_state(Writer &writer) const {
  const int64_t n = sizes_.n;
  writer.reals(PROJECTED_CONTROL_SECTION_INSTANTS, times_aside_.data(), 2 * timed_aside_);
  writer.reals(PROJECTED_CONTROL_SECTION_NOW, stamp_aside_, 2);
  const double *from = aside_.data();
  const auto next = [&](uint32_t id, int64_t count) {
    writer.reals(id, from, count);
    from += count;
  };
  next(PROJECTED_CONTROL_SECTION_Q, n);
  next(PROJECTED_CONTROL_SECTION_V, n);
  next(PROJECTED_CONTROL_SECTION_WRENCH, 6);
  next(PROJECTED_CONTROL_SECTION_EFFORT, n);
  const double *const silence = from;
  from += silence_.silence_shape[0];
  next(PROJECTED_CONTROL_SECTION_APPLIED, live_.applied());
  writer.reals(PROJECTED_CONTROL_SECTION_SILENCE, silence, silence_.silence_shape[0]);
#define PROJECTED_CONTROL_PUT(id, field) next(id, tick_.field##_shape[0]);
  PROJECTED_CONTROL_MIRRORED_SECTIONS(PROJECTED_CONTROL_PUT)
#undef PROJECTED_CONTROL_PUT
}

}  // namespace projected_control
