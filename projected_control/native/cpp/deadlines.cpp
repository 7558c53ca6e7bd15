// A thread that wakes up every period, with or without a control loop in it, and how late it is.

#include "native_loop.h"

#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

namespace {

int64_t nothing_is_counted(void) { return -1; }

using Counter = int64_t (*)(void);

Counter counter() {
  void *found = dlsym(RTLD_DEFAULT, "projected_control_allocations");
  return found ? reinterpret_cast<Counter>(found) : nothing_is_counted;
}

void sleep_until(int64_t moment) {
  const timespec when = {static_cast<time_t>(moment / 1000000000),
                         static_cast<long>(moment % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

// One period: when it woke up and how long its tick took [ns]; false where the tick failed.
bool turn(projected_control_simulation *simulation, int64_t *cycle) {
  *cycle = 0;
  if (!simulation) return true;
  if (projected_control_observe(simulation) != 0) return false;
  const int64_t begin = projected_control_nanoseconds();
  const int32_t status = projected_control_answer(&simulation->loop);
  *cycle = projected_control_nanoseconds() - begin;
  return status == 0 && projected_control_move(simulation) == 0;
}

void *run(void *argument) {
  auto &d = *static_cast<projected_control_deadlines *>(argument);
  const Counter allocations = counter();
  rusage before = {}, after = {};
  int64_t allocated = 0, cycle = 0;
  int64_t moment = projected_control_nanoseconds() + d.period_ns;
  for (int64_t i = -d.warm_up; i < d.ticks; ++i) {
    if (i == 0) {
      getrusage(RUSAGE_THREAD, &before);
      allocated = allocations();
    }
    sleep_until(moment);
    const int64_t late = projected_control_nanoseconds() - moment;
    const bool good = turn(d.simulation, &cycle);
    do moment += d.period_ns;  // periods that have passed already are lost, not made up for
    while (moment <= projected_control_nanoseconds());
    if (i < 0) continue;
    d.failed += !good;
    d.late_us[i] = 1e-3 * static_cast<double>(late);
    d.cycle_us[i] = 1e-3 * static_cast<double>(cycle);
  }
  getrusage(RUSAGE_THREAD, &after);
  d.allocations = allocations() < 0 ? -1 : allocations() - allocated;
  d.minor_faults = after.ru_minflt - before.ru_minflt;
  d.major_faults = after.ru_majflt - before.ru_majflt;
  return nullptr;
}

}  // namespace

extern "C" int32_t projected_control_meet_deadlines(projected_control_deadlines *deadlines) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  const sched_param priority = {static_cast<int>(deadlines->priority)};
  pthread_attr_setschedpolicy(&attributes, deadlines->priority ? SCHED_FIFO : SCHED_OTHER);
  pthread_attr_setschedparam(&attributes, &priority);
  deadlines->failed = 0;
  pthread_t thread;
  int problem = pthread_create(&thread, &attributes, run, deadlines);
  deadlines->granted = problem == 0;
  if (problem != 0) problem = pthread_create(&thread, nullptr, run, deadlines);
  pthread_attr_destroy(&attributes);
  if (problem == 0) problem = pthread_join(thread, nullptr);
  return problem;
}
