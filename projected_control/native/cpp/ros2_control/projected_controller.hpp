// The controller: reads the arm, lets the session's loop answer, writes the effort.

#ifndef PROJECTED_CONTROL_PROJECTED_CONTROLLER_HPP
#define PROJECTED_CONTROL_PROJECTED_CONTROLLER_HPP

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "rcl_interfaces/msg/set_parameters_result.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/u_int8_multi_array.hpp"

#include "own_participant.hpp"
#include "own_thread.hpp"
#include "session.h"

namespace projected_control {

class ProjectedController : public controller_interface::ControllerInterface {
 public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using Bytes = std_msgs::msg::UInt8MultiArray;

  CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override;
  controller_interface::return_type update(
      const rclcpp::Time &time, const rclcpp::Duration &period) override;

 private:
  bool read_parameters();
  rcl_interfaces::msg::SetParametersResult judge(const std::vector<rclcpp::Parameter> &changes) const;
  void receive(Session &session, const Bytes &message);
  void report(Session &session);
  void diagnose(const Session &session);
  void write_record(Session &session);
  void send_zeros();
  void count_untaken(bool taken);

  std::vector<std::string> joints_, commands_;
  std::string sensor_, time_interface_, record_file_;
  int64_t record_ticks_ = 0;
  /* In simulated time a simulator makes one cycle per period, and the manager's clock is what
   * messages on /clock have told it by then: cycles are counted instead. */
  bool counts_ = false;
  int64_t period_ns_ = 0, cycle_ns_ = 0;
  std::atomic<bool> configured_{false}; /* from then on no parameter changes */
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr judging_;
  std::shared_ptr<Session> session_; /* callbacks that still run have their own */
  std::vector<double> q_, v_, wrench_, efforts_;
  std::atomic<int64_t> untaken_{0}; /* efforts that an interface did not take at once */
  std::atomic<int64_t> kept_{0};    /* interfaces that did not take the last zero at all */

  /* Two: a listener that hangs must not stop receiving. */
  rclcpp::CallbackGroup::SharedPtr reporting_;
  rclcpp::Publisher<Bytes>::SharedPtr acknowledgements_, states_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_;
  rclcpp::TimerBase::SharedPtr report_timer_, diagnose_timer_;
  double reported_ = 0.0, diagnosed_ = 0.0; /* when, by the steady clock [s] */
  int64_t told_phase_ = -1, told_refused_ = -1;
  std::unique_ptr<OwnParticipant<Bytes>> receiver_; /* these end first: they use all of the above */
  std::unique_ptr<OwnThread> reporter_;
};

}  // namespace projected_control

#endif
