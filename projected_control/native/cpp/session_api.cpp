// Sessions and simulated arms behind a C interface: what ros2_control would call, called by Python.

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "plant.h"
#include "session.h"

using projected_control::Session;
using projected_control::SimulatedPlant;
using projected_control::Surroundings;
using projected_control::Verdict;

namespace {

std::vector<std::string> split(const char *names) {
  std::vector<std::string> found;
  for (const char *name = names; *name; name += std::strlen(name) + 1) found.emplace_back(name);
  return found;
}

// As much of some bytes as there is space for; how many there were.
int64_t hand_out(const std::vector<uint8_t> &bytes, uint8_t *to, int64_t capacity) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size) std::memcpy(to, bytes.data(), static_cast<size_t>(std::min(size, capacity)));
  return size;
}

int64_t hand_out(const Verdict &verdict, char *reason, int64_t capacity) {
  std::strncpy(reason, verdict.reason.c_str(), static_cast<size_t>(capacity - 1));
  reason[capacity - 1] = '\0';
  return verdict.status;
}

}  // namespace

extern "C" {

// Names one after the other, each with its final zero, and one zero more.
Session *projected_control_session_create(
    const char *joints, const char *commands, double period, int64_t record_ticks,
    int32_t arm_clock) {
  return new Session(
      Surroundings{split(joints), split(commands), period, record_ticks, arm_clock != 0});
}

void projected_control_session_destroy(Session *session) { delete session; }

// The acknowledgement's size; zero where there is none.
int64_t projected_control_session_receive(
    Session *session, const uint8_t *bytes, int64_t size, int64_t now_ns, uint8_t *answer,
    int64_t capacity) {
  return hand_out(
      session->receive(bytes, static_cast<size_t>(size), now_ns).acknowledgement, answer, capacity);
}

int64_t projected_control_session_activate(
    Session *session, int64_t now_ns, char *reason, int64_t capacity) {
  return hand_out(session->activate(now_ns), reason, capacity);
}

void projected_control_session_deactivate(Session *session) { session->deactivate(); }

void projected_control_session_cycle(
    Session *session, const double *q, const double *v, const double *wrench, int64_t time_ns,
    double arm_seconds, int64_t now_ns, double *commands) {
  session->cycle({q, v, wrench, time_ns, arm_seconds}, now_ns, commands);
}

int64_t projected_control_session_state(
    Session *session, int64_t time_ns, int64_t now_ns, uint8_t *state, int64_t capacity) {
  return hand_out(session->state(time_ns, now_ns), state, capacity);
}

SimulatedPlant *projected_control_plant_create(
    const uint8_t *bytes, int64_t size, char *reason, int64_t capacity) {
  Verdict verdict;
  auto plant = SimulatedPlant::make(bytes, static_cast<size_t>(size), verdict);
  hand_out(verdict, reason, capacity);
  return plant.release();
}

void projected_control_plant_destroy(SimulatedPlant *plant) { delete plant; }

// Looks at the arm, after a period under this effort where there is one.
int32_t projected_control_plant_read(
    SimulatedPlant *plant, const double *effort, double *q, double *v, double *wrench) {
  const size_t n = plant->joints().size();
  if (effort) {
    std::memcpy(plant->effort(), effort, n * sizeof(double));
    if (const int32_t status = plant->move()) return status;
  }
  const int32_t status = plant->observe();
  std::memcpy(q, plant->q(), n * sizeof(double));
  std::memcpy(v, plant->v(), n * sizeof(double));
  std::memcpy(wrench, plant->wrench(), 6 * sizeof(double));
  return status;
}

// So many cycles of a session on a simulated arm, its heartbeat heard, and what they allocated: -1
// where they are not counted (see allocations.cpp).
int64_t projected_control_session_cycles(
    Session *session, SimulatedPlant *plant, const double *first, int64_t cycles, int64_t time_ns,
    double arm_seconds, int64_t now_ns) {
  using Counter = int64_t (*)();
  const auto count =
      reinterpret_cast<Counter>(dlsym(RTLD_DEFAULT, "projected_control_allocations"));
  const size_t n = plant->joints().size();
  std::memcpy(plant->effort(), first, n * sizeof(double));
  const auto period = static_cast<int64_t>(1e9 * plant->period() + 0.5);
  const int64_t before = count ? count() : 0;
  for (int64_t i = 1; i <= cycles; ++i) {
    if (plant->move() != 0 || plant->observe() != 0) return -2;
    session->cycle(
        {plant->q(), plant->v(), plant->wrench(), time_ns + i * period,
         arm_seconds + static_cast<double>(i) * plant->period()},
        now_ns, plant->effort());
  }
  return count ? count() - before : -1;
}

}  // extern "C"
