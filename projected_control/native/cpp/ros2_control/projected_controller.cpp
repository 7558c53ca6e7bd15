#include "projected_controller.hpp"

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>

#include "diagnostic_msgs/msg/key_value.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "lifecycle_msgs/msg/state.hpp"
#include "pluginlib/class_list_macros.hpp"

#include "interfaces.hpp"

#if __has_include("hardware_interface/introspection.hpp")
#include "hardware_interface/introspection.hpp"
#endif

namespace projected_control {
namespace {

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using diagnostic_msgs::msg::DiagnosticStatus;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::chrono::milliseconds poll{4};  // for what there is to report
// How long the zeros of a deactivation are tried where an interface does not take them. The manager's
// cycle waits meanwhile: longer than any lock is held, shorter than a drive's own timeout.
constexpr std::chrono::milliseconds zero_patience{10};
constexpr double least_between = 0.1;  // diagnostics of refusals [s]
constexpr const char *axes[] = {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"};
constexpr const char *parameters[] = {
    "joints", "command_joints", "sensor", "time_interface", "record_ticks", "record_file"};
constexpr const char *phases[] = {
    "no session", "ready", "running", "the commanding node is silent", "ended"};

}  // namespace

CallbackReturn ProjectedController::on_init() {
  if (const char *mismatch = projected_control_native_mismatch()) {
    RCLCPP_ERROR(get_node()->get_logger(), "the plugin does not fit what it was built with: %s; "
                 "build it again: projected-control plugin", mismatch);
    return CallbackReturn::ERROR;
  }
  auto_declare<std::vector<std::string>>("joints", {});
  auto_declare<std::vector<std::string>>("command_joints", {});
  auto_declare<std::string>("sensor", "");
  auto_declare<std::string>("time_interface", "");
  auto_declare<int>("record_ticks", 0);
  auto_declare<std::string>("record_file", "");
  judging_ = get_node()->add_on_set_parameters_callback(
      [this](const std::vector<rclcpp::Parameter> &changes) { return judge(changes); });
  return CallbackReturn::SUCCESS;
}

// They are read at configuration: a later change would be taken and mean nothing, so it is refused.
rcl_interfaces::msg::SetParametersResult ProjectedController::judge(
    const std::vector<rclcpp::Parameter> &changes) const {
  rcl_interfaces::msg::SetParametersResult result;
  result.successful = true;
  if (!configured_.load()) return result;
  for (const rclcpp::Parameter &change : changes)
    for (const char *own : parameters)
      if (change.get_name() == own) {
        result.successful = false;
        result.reason =
            change.get_name() + " counts when the controller is configured; clean it up first";
      }
  return result;
}

bool ProjectedController::read_parameters() {
  const auto node = get_node();
  joints_ = node->get_parameter("joints").as_string_array();
  commands_ = node->get_parameter("command_joints").as_string_array();
  sensor_ = node->get_parameter("sensor").as_string();
  time_interface_ = node->get_parameter("time_interface").as_string();
  record_ticks_ = node->get_parameter("record_ticks").as_int();
  record_file_ = node->get_parameter("record_file").as_string();
  counts_ = node->get_parameter("use_sim_time").as_bool();
  if (commands_.empty()) commands_ = joints_;
  if (!joints_.empty() && record_ticks_ >= 0) return true;
  RCLCPP_ERROR(node->get_logger(),
               "the parameter joints must name all joints whose position and velocity are read, "
               "and record_ticks must not be negative");
  return false;
}

InterfaceConfiguration ProjectedController::command_interface_configuration() const {
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const std::string &joint : commands_)
    wanted.names.push_back(joint + "/" + hardware_interface::HW_IF_EFFORT);
  return wanted;
}

InterfaceConfiguration ProjectedController::state_interface_configuration() const {
  InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
  for (const std::string &joint : joints_) {
    wanted.names.push_back(joint + "/" + hardware_interface::HW_IF_POSITION);
    wanted.names.push_back(joint + "/" + hardware_interface::HW_IF_VELOCITY);
  }
  if (!sensor_.empty())
    for (const char *axis : axes) wanted.names.push_back(sensor_ + "/" + axis);
  if (!time_interface_.empty()) wanted.names.push_back(time_interface_);  // the last: see update
  return wanted;
}

CallbackReturn ProjectedController::on_configure(const rclcpp_lifecycle::State &) {
  if (!read_parameters()) return CallbackReturn::ERROR;
  const double rate = get_update_rate();
  if (!(rate > 0.0)) {
    RCLCPP_ERROR(get_node()->get_logger(), "the controller has no update rate");
    return CallbackReturn::ERROR;
  }
  period_ns_ = std::llround(1e9 / rate);
  RCLCPP_INFO(get_node()->get_logger(), "states have the time of %s",
              !time_interface_.empty() ? time_interface_.c_str()
              : counts_                ? "the simulator, by counting cycles"
                                       : "the controller manager (time_interface is empty)");
  session_ = std::make_shared<Session>(
      Surroundings{joints_, commands_, 1.0 / rate, record_ticks_, !time_interface_.empty()});
  q_.assign(joints_.size(), nothing);
  v_ = q_;
  wrench_.assign(6, nothing);
  efforts_.assign(commands_.size(), 0.0);
#ifdef REGISTER_ROS2_CONTROL_INTROSPECTION
  const Session::Gauges &gauges = session_->gauges();
  const auto get_name = [this] { return std::string(get_node()->get_name()); };
  REGISTER_ROS2_CONTROL_INTROSPECTION("phase", &gauges.phase);
  REGISTER_ROS2_CONTROL_INTROSPECTION("action", &gauges.action);
  REGISTER_ROS2_CONTROL_INTROSPECTION("events", &gauges.events);
  REGISTER_ROS2_CONTROL_INTROSPECTION("duration_us", &gauges.duration_us);
  REGISTER_ROS2_CONTROL_INTROSPECTION("stamp", &gauges.stamp);
  for (size_t i = 0; i < efforts_.size(); ++i)
    REGISTER_ROS2_CONTROL_INTROSPECTION("effort." + commands_[i], &efforts_[i]);
#endif
  const auto node = get_node();
  reporting_ =
      node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false);
  acknowledgements_ = node->create_publisher<Bytes>("~/acknowledgements", rclcpp::QoS(32).reliable());
  states_ = node->create_publisher<Bytes>("~/states", rclcpp::QoS(10).best_effort());
  diagnostics_ = node->create_publisher<diagnostic_msgs::msg::DiagnosticArray>("/diagnostics", 10);
  report_timer_ = node->create_wall_timer(
      poll, [this, session = session_] { report(*session); }, reporting_);
  diagnose_timer_ = node->create_wall_timer(
      std::chrono::seconds(1), [this, session = session_] { diagnose(*session); }, reporting_);
  const auto base = node->get_node_base_interface();
  receiver_ = std::make_unique<OwnParticipant<Bytes>>(
      base->resolve_topic_or_service_name("~/updates", false), rclcpp::QoS(32).reliable(),
      std::string(node->get_name()) + "_receiver", node->get_namespace(),
      base->get_context()->get_domain_id(),
      [this, session = session_](const Bytes &message) { receive(*session, message); });
  reporter_ = std::make_unique<OwnThread>(reporting_, node->get_node_base_interface());
  configured_.store(true);
  return CallbackReturn::SUCCESS;
}

CallbackReturn ProjectedController::on_cleanup(const rclcpp_lifecycle::State &) {
  configured_.store(false);
  receiver_.reset();
  reporter_.reset();
  report_timer_.reset();
  diagnose_timer_.reset();
#ifdef REGISTER_ROS2_CONTROL_INTROSPECTION
  stats_registrations_.removeAll();
#endif
  session_.reset();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ProjectedController::on_activate(const rclcpp_lifecycle::State &) {
  cycle_ns_ = 0;
  kept_.store(0, std::memory_order_relaxed);
  const Verdict verdict = session_->activate(projected_control_nanoseconds());
  if (verdict.accepted()) return CallbackReturn::SUCCESS;
  RCLCPP_ERROR(get_node()->get_logger(), "not activated: %s", verdict.reason.c_str());
  return CallbackReturn::FAILURE;
}

CallbackReturn ProjectedController::on_deactivate(const rclcpp_lifecycle::State &) {
  session_->deactivate();
  send_zeros();
  return CallbackReturn::SUCCESS;
}

void ProjectedController::send_zeros() {
  const Taking zeros = set_all(command_interfaces_, 0.0, zero_patience);
  untaken_.fetch_add(static_cast<int64_t>(zeros.at_first), std::memory_order_relaxed);
  kept_.store(static_cast<int64_t>(zeros.never), std::memory_order_relaxed);
  if (zeros.never > 0)
    RCLCPP_ERROR(
        get_node()->get_logger(),
        "deactivated, but %zu of %zu effort interfaces did not take the last zero for %d ms: they "
        "keep the effort they had; stop the arm by its own means, and see what holds them",
        zeros.never, command_interfaces_.size(), static_cast<int>(zero_patience.count()));
}

void ProjectedController::count_untaken(bool taken) {
  if (!taken) untaken_.fetch_add(1, std::memory_order_relaxed);
}

return_type ProjectedController::update(const rclcpp::Time &time, const rclcpp::Duration &) {
  for (size_t i = 0; i < joints_.size(); ++i) {
    q_[i] = value_of(state_interfaces_[2 * i], 0);
    v_[i] = value_of(state_interfaces_[2 * i + 1], 0);
  }
  const bool senses = !sensor_.empty();
  for (size_t i = 0; senses && i < 6; ++i)
    wrench_[i] = value_of(state_interfaces_[2 * joints_.size() + i], 0);
  cycle_ns_ = counts_ && cycle_ns_ > 0 ? cycle_ns_ + period_ns_ : time.nanoseconds();
  const double arm_seconds = time_interface_.empty() ? 0.0 : value_of(state_interfaces_.back(), 0);
  session_->cycle(
      {q_.data(), v_.data(), senses ? wrench_.data() : nullptr, cycle_ns_, arm_seconds},
      projected_control_nanoseconds(), efforts_.data());
  for (size_t i = 0; i < efforts_.size(); ++i)
    count_untaken(set_value(command_interfaces_[i], efforts_[i]));
  return return_type::OK;
}

// What is not done in a cycle

void ProjectedController::receive(Session &session, const Bytes &message) {
  const Session::Answer answer =
      session.receive(message.data.data(), message.data.size(), projected_control_nanoseconds());
  if (answer.acknowledgement.empty()) return;
  Bytes acknowledgement;
  acknowledgement.data = answer.acknowledgement;
  acknowledgements_->publish(acknowledgement);
}

void ProjectedController::report(Session &session) {
  const int64_t now_ns = projected_control_nanoseconds();
  const double now = 1e-9 * static_cast<double>(now_ns);
  const Session::Summary summary = session.summary(now_ns);
  const bool refused = summary.refused != told_refused_ && now - diagnosed_ > least_between;
  if (summary.phase != told_phase_ || refused) diagnose(session);
  if (now - reported_ < session.state_period() - 1e-3) return;
  Bytes state;
  state.data = session.state(get_node()->now().nanoseconds(), now_ns);
  if (state.data.empty()) return;
  reported_ = now;
  states_->publish(state);
  write_record(session);
}

void ProjectedController::diagnose(const Session &session) {
  const Session::Summary s = session.summary(projected_control_nanoseconds());
  diagnosed_ = 1e-9 * static_cast<double>(projected_control_nanoseconds());
  told_phase_ = s.phase;
  told_refused_ = s.refused;
  DiagnosticStatus status;
  status.name = std::string(get_node()->get_name()) + ": plugin";
  status.hardware_id = "projected_control";
  status.message = phases[s.phase];
  const int64_t kept = kept_.load();
  if (kept > 0) status.message += ", and an effort interface did not take the last zero";
  const bool lost = s.phase == PROJECTED_CONTROL_PHASE_SILENT || s.failed > 0 || kept > 0;
  status.level = lost ? DiagnosticStatus::ERROR
                      : s.refused > 0 ? DiagnosticStatus::WARN : DiagnosticStatus::OK;
  const auto add = [&status](const char *key, const std::string &value) {
    diagnostic_msgs::msg::KeyValue pair;
    pair.key = key;
    pair.value = value;
    status.values.push_back(pair);
  };
  add("phase", phases[s.phase]);
  add("cycles", std::to_string(s.cycles));
  add("cycles missed", std::to_string(s.overruns));
  add("ticks failed", std::to_string(s.failed));
  add("efforts not taken", std::to_string(untaken_.load()));
  add("last zeros not taken", std::to_string(kept));
  add("updates accepted", std::to_string(s.accepted));
  add("updates refused", std::to_string(s.refused));
  add("last refusal", s.reason);
  add("not activated", s.not_activated);
  add("seconds since the last update", std::to_string(s.silent_seconds));
  diagnostic_msgs::msg::DiagnosticArray message;
  message.header.stamp = get_node()->now();
  message.status.push_back(status);
  diagnostics_->publish(message);
}

void ProjectedController::write_record(Session &session) {
  std::vector<double> rows;
  int64_t columns = 0, joints = 0;
  if (record_file_.empty() || !session.take_record(rows, columns, joints)) return;
  std::vector<double> head(static_cast<size_t>(columns), 0.0);
  head[0] = static_cast<double>(columns);
  head[1] = static_cast<double>(joints);
  const std::string unfinished = record_file_ + ".part";
  {
    std::ofstream file(unfinished, std::ios::binary);
    for (const auto *part : {&head, &rows})
      file.write(
          reinterpret_cast<const char *>(part->data()),
          static_cast<std::streamsize>(part->size() * sizeof(double)));
  }
  if (std::rename(unfinished.c_str(), record_file_.c_str()) != 0)
    RCLCPP_WARN(get_node()->get_logger(), "%s was not written", record_file_.c_str());
}

}  // namespace projected_control

PLUGINLIB_EXPORT_CLASS(
    projected_control::ProjectedController, controller_interface::ControllerInterface)
