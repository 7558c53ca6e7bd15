// A tick, and many of them on a simulated arm. Kernels and Pinocchio compute; here they are called.

#include "native_loop.h"

#include <cmath>
#include <cstring>
#include <time.h>

namespace {

void copy(const double *from, double *to, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(double));
}

// What the arm really does, and what the tick did, as a row.
int32_t keep(const projected_control_simulation &s) {
  const int64_t n = s.joints, m = s.rows;
  auto &put = *s.put;
  const auto truth = projected_control_truth_terms_view(put.truth, n, m);
  copy(s.plant.y, truth.q, n);
  copy(s.plant.y + n, truth.v, n);
  copy(s.plant.slope + n, truth.acceleration, n);
  copy(s.plant.multipliers, truth.multipliers, m);
  copy(s.plant.force, truth.constraint_force, n);
  *truth.residual = *s.plant.residual;
  *truth.energy = projected_control_arm_energy(s.arm);
  *truth.work_done = s.plant.y[2 * n];
  *truth.rank = *s.plant_model.rank;
  copy(s.plant.effort, truth.motor_effort, n);
  put.stamp = *s.plant.time;
  put.clock = std::llround(1e9 * put.stamp);
  put.action = s.loop.tick->action;
  put.events = s.loop.tick->events;
  return projected_control_put_tick(&put);
}

}  // namespace

extern "C" {

int32_t projected_control_answer(projected_control_loop *loop) {
  auto &tick = *loop->tick;
  projected_control_arm_compute(loop->arm, tick.q, tick.v);
  if (loop->needs_coriolis) projected_control_arm_compute_coriolis(loop->arm, tick.q, tick.v);
  const int32_t status = projected_control_tick(&tick);
  if (status != 0) {
    for (int64_t i = 0; i < tick.q_shape[0]; ++i) loop->effort[i] = 0.0;
    tick.action = PROJECTED_CONTROL_ACTION_ZERO;
  }
  return status;
}

int32_t projected_control_observe(projected_control_simulation *s) {
  const int64_t n = s->joints;
  auto &tick = *s->loop.tick;
  projected_control_arm_compute(s->arm, s->plant.y, s->plant.y + n);
  if (projected_control_observe_plant(s->observe) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
  if (projected_control_sense_joints(s->encode) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
  copy(s->plant.measured_q, tick.q, n);
  copy(s->plant.measured_v, tick.v, n);
  tick.stamp = *s->plant.time;
  if (s->sense) {
    if (projected_control_sense_force(s->sense) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
    copy(s->plant.wrench, tick.wrench, 6);
  }
  return PROJECTED_CONTROL_SIMULATED;
}

int32_t projected_control_move(projected_control_simulation *s) {
  const int64_t n = s->joints;
  if (projected_control_drive_motors(s->drive) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
  for (int64_t step = 0; step < s->substeps; ++step) {
    s->begin->observed = step == 0;
    if (projected_control_begin_step(s->begin) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
    int64_t status = s->begin->status;
    while (status == PROJECTED_CONTROL_STEP_GOES_ON) {
      projected_control_arm_compute(s->arm, s->plant.at, s->plant.at + n);
      if (projected_control_advance_step(s->advance) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
      status = s->advance->status;
    }
    if (status != PROJECTED_CONTROL_STEP_DONE) return static_cast<int32_t>(status);
  }
  return PROJECTED_CONTROL_SIMULATED;
}

int32_t projected_control_simulate(projected_control_simulation *s, int64_t ticks) {
  for (s->done = 0; s->done < ticks; ++s->done) {
    if (s->motor_noise) copy(s->motor_noise + s->done * s->joints, s->plant.motor_noise, s->joints);
    if (s->noise) copy(s->noise + s->done * s->rows, s->plant.noise, s->rows);
    if (const int32_t status = projected_control_observe(s)) return status;
    if (projected_control_answer(&s->loop) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
    if (s->put && keep(*s) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
    if (const int32_t status = projected_control_move(s)) return status;
    if (s->loop.tick->events & s->final_events) {
      ++s->done;
      break;
    }
  }
  return PROJECTED_CONTROL_SIMULATED;
}

int64_t projected_control_nanoseconds(void) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

int64_t projected_control_clock_cost(void) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < 10000; ++i) {
    const int64_t begin = projected_control_nanoseconds();
    const int64_t cost = projected_control_nanoseconds() - begin;
    if (cost < least) least = cost;
  }
  return least;
}

int32_t projected_control_time_ticks(
    projected_control_loop *loop, projected_control_arm *alone, const double *states, int64_t count,
    int64_t *tick_ns, int64_t *pass_ns) {
  auto &tick = *loop->tick;
  const int64_t n = tick.q_shape[0], width = 2 + 2 * n + 6;
  for (int64_t i = 0; i < count; ++i) {
    const double *row = states + i * width;
    tick.stamp = row[0];
    tick.wrench_age = row[1];
    copy(row + 2, tick.q, n);
    copy(row + 2 + n, tick.v, n);
    copy(row + 2 + 2 * n, tick.wrench, 6);
    const int64_t begin = projected_control_nanoseconds();
    const int32_t status = projected_control_answer(loop);
    const int64_t middle = projected_control_nanoseconds();
    projected_control_arm_compute_all_terms(alone, row + 2, row + 2 + n);
    pass_ns[i] = projected_control_nanoseconds() - middle;
    tick_ns[i] = middle - begin;
    if (status != 0) return status;
  }
  return 0;
}

int32_t projected_control_time_steps(
    projected_control_simulation *s, projected_control_arm *other, int32_t (*evaluate)(int64_t *),
    int64_t *frame, int64_t count, int64_t *step_ns, int64_t *model_ns) {
  for (int64_t i = 0; i < count; ++i) {
    if (const int32_t status = projected_control_observe(s)) return status;
    if (projected_control_answer(&s->loop) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
    const auto &tick = *s->loop.tick;
    const int64_t begin = projected_control_nanoseconds();
    if (const int32_t status = projected_control_move(s)) return status;
    const int64_t middle = projected_control_nanoseconds();
    projected_control_arm_compute(other, tick.q, tick.v);
    if (evaluate(frame) != 0) return PROJECTED_CONTROL_KERNEL_FAILED;
    model_ns[i] = projected_control_nanoseconds() - middle;
    step_ns[i] = middle - begin;
  }
  return 0;
}

}  // extern "C"
