// Hardware that is a simulated arm: what dry runs, tests and newcomers move.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hardware_interface/handle.hpp"
#include "hardware_interface/hardware_info.hpp"
#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

#include "fault_file.hpp"
#include "period_grid.h"
#include "plant.h"

namespace projected_control {
namespace {

using hardware_interface::CallbackReturn;
using hardware_interface::CommandInterface;
using hardware_interface::HardwareInfo;
using hardware_interface::return_type;
using hardware_interface::StateInterface;

constexpr const char *axes[] = {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"};

constexpr int64_t most_periods = 50;  // that are made up for in one reading

rclcpp::Logger logger() { return rclcpp::get_logger("SimulatedSystem"); }

}  // namespace

class SimulatedSystem : public hardware_interface::SystemInterface {
 public:
#if __has_include("hardware_interface/types/hardware_component_interface_params.hpp")
  CallbackReturn on_init(
      const hardware_interface::HardwareComponentInterfaceParams &params) override {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
    return begin(params.hardware_info);
  }
#else
  CallbackReturn on_init(const HardwareInfo &info) override {
    if (SystemInterface::on_init(info) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
    return begin(info);
  }
#endif

  std::vector<StateInterface> export_state_interfaces() override {
    using namespace hardware_interface;
    std::vector<StateInterface> found;
    for (size_t i = 0; i < joints_.size(); ++i) {
      found.emplace_back(joints_[i], HW_IF_POSITION, &q_[i]);
      found.emplace_back(joints_[i], HW_IF_VELOCITY, &v_[i]);
      found.emplace_back(joints_[i], HW_IF_EFFORT, &felt_[i]);
    }
    if (!sensor_.empty())
      for (size_t i = 0; i < 6; ++i) found.emplace_back(sensor_, axes[i], &wrench_[i]);
    found.emplace_back(info_.name, "time", &seconds_);
    return found;
  }

  std::vector<CommandInterface> export_command_interfaces() override {
    std::vector<CommandInterface> found;
    for (size_t i = 0; i < joints_.size(); ++i)
      if (motors_[i])
        found.emplace_back(joints_[i], hardware_interface::HW_IF_EFFORT, &commands_[i]);
    return found;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override {
    for (double &command : commands_) command = 0.0;
    return look() == 0 ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
  }

  return_type perform_command_mode_switch(
      const std::vector<std::string> &start, const std::vector<std::string> &stop) override {
    const auto ours = [this](const std::vector<std::string> &names) {
      int64_t count = 0;
      for (const std::string &name : names)
        for (const std::string &joint : joints_)
          count += name == joint + "/" + hardware_interface::HW_IF_EFFORT;
      return count;
    };
    claimed_ += ours(start) - ours(stop);
    commanded_ = false;
    for (double &command : commands_) command = std::numeric_limits<double>::quiet_NaN();
    if (claimed_ <= 0 && brakes_) plant_->brake();
    return return_type::OK;
  }

  return_type read(const rclcpp::Time &time, const rclcpp::Duration &) override {
    // Where cycles were missed the arm has moved on meanwhile, under the effort that it had.
    const bool free = (claimed_ > 0 && commanded_) || !brakes_;
    int64_t due = 1;
    if (moved_) due = std::min(grid_.advance(time.nanoseconds()), most_periods);
    else grid_.begin(time.nanoseconds());
    moved_ = free;
    periods_ += due;
    for (; free && due > 0 && failed_ == 0; --due) {
      failed_ = plant_->move();
      if (due > 1 && failed_ == 0) failed_ = look();  // encoders read on
    }
    if (failed_ == 0) failed_ = look();
    if (failed_ == 0) return return_type::OK;
    RCLCPP_ERROR_ONCE(
        logger(), "the simulated arm has failed (%d): its efforts tore it from its constraint, or "
        "were not finite", failed_);
    return return_type::ERROR;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override {
    for (size_t i = 0; claimed_ > 0 && i < joints_.size(); ++i)
      commanded_ = commanded_ || (motors_[i] && std::isfinite(commands_[i]));
    for (size_t i = 0; i < joints_.size(); ++i) {
      // As a drive does: what is no number moves nothing.
      felt_[i] = motors_[i] && std::isfinite(commands_[i]) ? commands_[i] : 0.0;
      plant_->effort()[places_[i]] = felt_[i];
    }
    return return_type::OK;
  }

 private:
  CallbackReturn refuse(const std::string &reason) {
    RCLCPP_ERROR(logger(), "%s", reason.c_str());
    return CallbackReturn::ERROR;
  }

  CallbackReturn begin(const HardwareInfo &info) {
    if (const char *mismatch = projected_control_native_mismatch())
      return refuse(std::string("the plugin does not fit what it was built with: ") + mismatch);
    const auto parameter = [&info](const char *name, const char *otherwise) {
      const auto found = info.hardware_parameters.find(name);
      return found == info.hardware_parameters.end() ? std::string(otherwise) : found->second;
    };
    const std::string path = parameter("plant_file", "");
    std::ifstream file(path, std::ios::binary);
    if (!file)
      return refuse(
          "the hardware parameter plant_file names no file that can be read: '" + path +
          "'; projected_control.native.plant_file.write_plant writes one");
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    Verdict verdict;
    plant_ = SimulatedPlant::make(
        reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), verdict);
    if (!plant_) return refuse(path + " is refused: " + verdict.reason);
    grid_ = PeriodGrid(std::lround(1e9 * plant_->period()));
    brakes_ = parameter("brakes", "true") == "true";
    fault_.watch(parameter("fault_file", ""));
    const double rate = 1.0 / plant_->period();
    if (info.rw_rate > 0 && std::fabs(info.rw_rate - rate) > 1e-6 * rate)
      return refuse(
          path + " was made for " + std::to_string(rate) + " Hz, the hardware is read at " +
          std::to_string(info.rw_rate) + " Hz");
    for (const auto &joint : info.joints) {
      size_t place = 0;
      while (place < plant_->joints().size() && plant_->joints()[place] != joint.name) ++place;
      if (place == plant_->joints().size())
        return refuse("the simulated arm has no joint " + joint.name);
      places_.push_back(place);
      joints_.push_back(joint.name);
      bool motor = false;
      for (const auto &command : joint.command_interfaces)
        motor = motor || command.name == hardware_interface::HW_IF_EFFORT;
      motors_.push_back(motor);
    }
    if (!info.sensors.empty()) {
      sensor_ = info.sensors[0].name;
      if (!plant_->measures())
        return refuse("the simulated arm measures no force, but there is a sensor " + sensor_);
    }
    q_.assign(joints_.size(), std::numeric_limits<double>::quiet_NaN());
    v_ = felt_ = commands_ = q_;
    for (double &command : commands_) command = 0.0;
    felt_ = commands_;
    return CallbackReturn::SUCCESS;
  }

  int32_t look() {
    constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
    const int32_t status = plant_->observe();
    const Fault fault = fault_.now();
    for (size_t i = 0; fault != Fault::state_frozen && i < joints_.size(); ++i) {
      q_[i] = fault == Fault::state_nan ? nothing : plant_->q()[places_[i]];
      v_[i] = fault == Fault::state_nan ? nothing : plant_->v()[places_[i]];
    }
    for (int i = 0; fault != Fault::wrench_frozen && i < 6; ++i)
      wrench_[i] = fault == Fault::wrench_nan ? nothing : plant_->wrench()[i];
    const double seconds = plant_->period() * static_cast<double>(periods_);
    if (fault != Fault::time_frozen) seconds_ = fault == Fault::time_nan ? nothing : seconds;
    return status;
  }

  std::unique_ptr<SimulatedPlant> plant_;
  std::vector<std::string> joints_;
  std::vector<size_t> places_; /* of our joints among the plant's */
  std::vector<bool> motors_;
  std::string sensor_;
  bool brakes_ = true;
  int64_t claimed_ = 0; /* effort interfaces that a controller has */
  bool commanded_ = false; /* brakes open with the first command of the controller that claimed the arm */
  int32_t failed_ = 0;
  bool moved_ = false; /* at the last reading */
  PeriodGrid grid_;
  int64_t periods_ = 0;  /* that have passed */
  double seconds_ = 0.0; /* the same, as it is told */
  FaultFile fault_;
  std::vector<double> q_, v_, felt_, commands_;
  double wrench_[6] = {};
};

}  // namespace projected_control

PLUGINLIB_EXPORT_CLASS(projected_control::SimulatedSystem, hardware_interface::SystemInterface)
