/* A simulated arm that is read and moved like hardware; without ros2_control.
 *
 * Reading moves the arm by one period under the effort that was written last, and shows where it
 * is: one sample of delay, as in a run in process.
 */
#ifndef PROJECTED_CONTROL_PLANT_H
#define PROJECTED_CONTROL_PLANT_H

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "arm_message.h"

namespace projected_control {

class SimulatedPlant {
 public:
  /* From a message of the kind PLANT, or NULL and why not. */
  static std::unique_ptr<SimulatedPlant> make(
      const uint8_t *bytes, size_t size, Verdict &verdict);
  ~SimulatedPlant();
  SimulatedPlant(const SimulatedPlant &) = delete;
  SimulatedPlant &operator=(const SimulatedPlant &) = delete;

  const std::vector<std::string> &joints() const { return names_; }
  double period() const { return period_; } /* that reading lets pass [s] */
  bool measures() const { return simulation_.sense != nullptr; }

  /* What is seen: positions, velocities by joint, and the wrench. */
  const double *q() const { return tick_.q; }
  const double *v() const { return tick_.v; }
  const double *wrench() const { return tick_.wrench; }
  double time() const { return *simulation_.plant.time; }

  /* What is written: an effort by joint. */
  double *effort() { return simulation_.loop.effort; }

  /* Brakes hold the arm where it is: time stands still. */
  void brake();

  /* Lets one period pass. Zero, or what advance_step said where the plant failed. */
  int32_t move();

  /* Looks at the arm where it is. */
  int32_t observe();

 private:
  SimulatedPlant() = default;
  Verdict fill(const Message &message);

  std::vector<std::string> names_;
  double period_ = 0.0, noise_ = 0.0;
  std::vector<double> motor_noise_; /* standard deviation of each */
  std::mt19937_64 random_, motor_random_;
  std::normal_distribution<double> normal_;
  projected_control_arm *arm_ = nullptr;
  projected_control_simulation simulation_{};
  struct projected_control_tick tick_{}; /* only where the state goes */
  struct projected_control_observe_plant observe_{};
  struct projected_control_sense_force sense_{};
  struct projected_control_sense_joints encode_{};
  struct projected_control_drive_motors drive_{};
  struct projected_control_begin_step begin_{};
  struct projected_control_advance_step advance_{};
  Kept memory_;
};

}  // namespace projected_control

#endif
