// A simulated arm that is read and moved like hardware.

#include "plant.h"

#include <cmath>

#include "tables.h"

namespace projected_control {
namespace {

constexpr int64_t most_samples = 10000;  // of delay

}  // namespace

std::unique_ptr<SimulatedPlant> SimulatedPlant::make(
    const uint8_t *bytes, size_t size, Verdict &verdict) {
  Message message;
  verdict = message.read(bytes, size);
  if (!verdict.accepted()) return nullptr;
  std::unique_ptr<SimulatedPlant> plant(new SimulatedPlant);
  verdict = plant->fill(message);
  if (!verdict.accepted()) plant.reset();
  return plant;
}

SimulatedPlant::~SimulatedPlant() {
  if (arm_) projected_control_arm_destroy(arm_);
}

Verdict SimulatedPlant::fill(const Message &message) {
  constexpr int64_t bad_size = PROJECTED_CONTROL_STATUS_SIZE;
  if (message.kind != PROJECTED_CONTROL_UPDATE_PLANT)
    return refused(PROJECTED_CONTROL_STATUS_MALFORMED, "the file holds no simulated arm");
  for (const auto &[id, count] : {std::pair<uint32_t, int64_t>{PROJECTED_CONTROL_SECTION_SIZES, 4},
                                  {PROJECTED_CONTROL_SECTION_PLANT_SIZES, 3},
                                  {PROJECTED_CONTROL_SECTION_SUBSTEPS, 1},
                                  {PROJECTED_CONTROL_SECTION_MEASURES, 1}})
    if (Verdict v = message.expect(id, count); !v.accepted()) return v;
  const int64_t *sizes = message.section(PROJECTED_CONTROL_SECTION_SIZES).wholes();
  const int64_t *plant_sizes = message.section(PROJECTED_CONTROL_SECTION_PLANT_SIZES).wholes();
  const int64_t n = message.section(PROJECTED_CONTROL_SECTION_KINDS).count;
  const int64_t m = sizes[1], k = sizes[2], frames = sizes[3], functions = m + k;
  const int64_t stages = plant_sizes[0], delay = plant_sizes[1], wait = plant_sizes[2];
  for (const int64_t size : {n, m, k, frames, stages})
    if (size < 0 || size > most_joints) return refused(bad_size, "a size is out of range");
  if (n < 1 || stages < 1 || delay < 0 || delay > most_samples || wait < 0 || wait > most_samples ||
      sizes[0] != 0)
    return refused(bad_size, "joints, stages, delays or first row are out of range");
  if (Verdict v = message.expect(PROJECTED_CONTROL_SECTION_NOISE, 3 + n); !v.accepted()) return v;
  const int64_t extra = message.section(PROJECTED_CONTROL_SECTION_FUNCTIONS).count -
                        projected_control_table_terms_size(frames, functions, n, 0);
  if (extra < 0) return refused(bad_size, "the table of functions is too short");
  names_ = names_in(message.section(PROJECTED_CONTROL_SECTION_JOINTS));
  if (static_cast<int64_t>(names_.size()) != n)
    return refused(PROJECTED_CONTROL_STATUS_JOINTS, "not every joint has a name");
  Verdict verdict;
  arm_ = arm_from(message, n, verdict);
  if (!arm_) return verdict;

  Kept &memory = memory_;
#define PROJECTED_CONTROL_TABLE any_length
#define PROJECTED_CONTROL_AT_LEAST(number) (number) + extra
#define PROJECTED_CONTROL_TAKE(id, field, type, dimensions, number) \
  PROJECTED_CONTROL_BIND(observe_, id, field, type, dimensions, number)
  PROJECTED_CONTROL_PLANT_SECTIONS(PROJECTED_CONTROL_TAKE)
#undef PROJECTED_CONTROL_TAKE
#undef PROJECTED_CONTROL_TABLE
#undef PROJECTED_CONTROL_AT_LEAST
  if (Verdict v = check_table("target", observe_.target, observe_.target_shape[0], m, true);
      !v.accepted())
    return v;
  use_pass(arm_, n, observe_);
  use_pass(arm_, n, advance_);
#define PROJECTED_CONTROL_SHARE(call, field)  \
  call.field = observe_.field;                \
  call.field##_shape[0] = observe_.field##_shape[0];
  PROJECTED_CONTROL_SHARE(advance_, plant_sizes)
  PROJECTED_CONTROL_SHARE(advance_, plant)
  PROJECTED_CONTROL_SHARE(advance_, state)
  advance_.state_shape[1] = n;
  PROJECTED_CONTROL_SHARE(advance_, sizes)
  PROJECTED_CONTROL_SHARE(advance_, functions)
  PROJECTED_CONTROL_SHARE(advance_, target)
  PROJECTED_CONTROL_SHARE(advance_, work)
  PROJECTED_CONTROL_SHARE(sense_, plant_sizes)
  PROJECTED_CONTROL_SHARE(sense_, plant)
  PROJECTED_CONTROL_SHARE(sense_, state)
  sense_.state_shape[1] = n;
  PROJECTED_CONTROL_SHARE(sense_, sizes)
  PROJECTED_CONTROL_SHARE(sense_, functions)
  PROJECTED_CONTROL_SHARE(sense_, placements)
  sense_.placements_shape[1] = observe_.placements_shape[1];
  PROJECTED_CONTROL_SHARE(begin_, plant_sizes)
  PROJECTED_CONTROL_SHARE(begin_, plant)
  PROJECTED_CONTROL_SHARE(begin_, state)
  begin_.state_shape[1] = n;
  PROJECTED_CONTROL_SHARE(begin_, sizes)
  PROJECTED_CONTROL_SHARE(begin_, work)
  PROJECTED_CONTROL_SHARE(begin_, spatial_jacobian)
  begin_.spatial_jacobian_shape[1] = n;
  PROJECTED_CONTROL_SHARE(begin_, placements)
  begin_.placements_shape[1] = observe_.placements_shape[1];
  PROJECTED_CONTROL_SHARE(encode_, plant_sizes)
  PROJECTED_CONTROL_SHARE(encode_, plant)
  PROJECTED_CONTROL_SHARE(encode_, state)
  encode_.state_shape[1] = n;
  PROJECTED_CONTROL_SHARE(encode_, sizes)
  PROJECTED_CONTROL_SHARE(drive_, plant_sizes)
  PROJECTED_CONTROL_SHARE(drive_, plant)
  PROJECTED_CONTROL_SHARE(drive_, sizes)
#undef PROJECTED_CONTROL_SHARE

  const std::vector<double> nothing(static_cast<size_t>(n) + 6, 0.0);
  tick_.q = memory.keep(nothing.data(), n);
  tick_.v = memory.keep(nothing.data(), n);
  tick_.wrench = memory.keep(nothing.data(), 6);
  tick_.q_shape[0] = tick_.v_shape[0] = n;
  simulation_.loop.tick = &tick_;
  simulation_.loop.effort = memory.keep(nothing.data(), n);
  drive_.effort = simulation_.loop.effort;
  drive_.effort_shape[0] = n;
  simulation_.arm = arm_;
  simulation_.encode = &encode_;
  simulation_.drive = &drive_;
  simulation_.observe = &observe_;
  simulation_.begin = &begin_;
  simulation_.advance = &advance_;
  const bool measures = message.section(PROJECTED_CONTROL_SECTION_MEASURES).wholes()[0] != 0;
  simulation_.sense = measures ? &sense_ : nullptr;
  simulation_.plant =
      projected_control_plant_terms_view(observe_.plant, n, m, stages, delay, wait);
  simulation_.joints = n;
  simulation_.rows = m;
  simulation_.substeps = message.section(PROJECTED_CONTROL_SECTION_SUBSTEPS).wholes()[0];
  period_ = static_cast<double>(simulation_.substeps) * simulation_.plant.step[0];
  const double *noise = message.section(PROJECTED_CONTROL_SECTION_NOISE).reals();
  noise_ = noise[0];
  motor_noise_.assign(noise + 3, noise + 3 + n);
  bool good = period_ > 0.0;
  for (int64_t i = 0; i < 3 + n; ++i) good = good && noise[i] >= 0.0 && std::isfinite(noise[i]);
  if (!good)
    return refused(PROJECTED_CONTROL_STATUS_VALUE, "step, noise or seed are out of range");
  random_.seed(static_cast<uint64_t>(noise[1]));
  motor_random_.seed(static_cast<uint64_t>(noise[2]));
  return {};
}

void SimulatedPlant::brake() {
  const int64_t n = simulation_.joints;
  for (int64_t i = 0; i < n; ++i) simulation_.plant.y[n + i] = 0.0;
}

int32_t SimulatedPlant::move() {
  for (size_t i = 0; i < motor_noise_.size(); ++i)
    if (motor_noise_[i] > 0.0)
      simulation_.plant.motor_noise[i] = motor_noise_[i] * normal_(motor_random_);
  return projected_control_move(&simulation_);
}

int32_t SimulatedPlant::observe() {
  if (noise_ > 0.0)
    for (int64_t i = 0; i < simulation_.rows; ++i)
      simulation_.plant.noise[i] = noise_ * normal_(random_);
  return projected_control_observe(&simulation_);
}

}  // namespace projected_control
