// Callbacks that must not wait for the manager's other work: signs of life, and reports.

#ifndef PROJECTED_CONTROL_OWN_THREAD_HPP
#define PROJECTED_CONTROL_OWN_THREAD_HPP

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "rclcpp/rclcpp.hpp"

namespace projected_control {

/* Runs the callbacks of one group, in a thread of its own. With real-time priority where the system
 * permits it, below that of the control thread (50 unless the manager was told otherwise): on a busy
 * computer a node that lives would be taken for dead otherwise. */
class OwnThread {
 public:
  static constexpr int priority = 40; /* SCHED_FIFO, as that of the nodes */

  OwnThread(
      const rclcpp::CallbackGroup::SharedPtr &group,
      const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr &node)
      : executor_(options(node)) {
    executor_.add_callback_group(group, node);
    thread_ = std::thread([this, context = node->get_context()] {
      const sched_param wanted{priority};
      pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted);  // or as it is
      // Not spin(): a cancel that comes before it would be lost.
      while (!end_.load() && rclcpp::ok(context)) executor_.spin_once(std::chrono::milliseconds(100));
    });
  }

  ~OwnThread() {
    end_.store(true);
    executor_.cancel();
    thread_.join();
  }

  OwnThread(const OwnThread &) = delete;
  OwnThread &operator=(const OwnThread &) = delete;

 private:
  static rclcpp::ExecutorOptions options(
      const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr &node) {
    rclcpp::ExecutorOptions found;
    found.context = node->get_context();
    return found;
  }

  rclcpp::executors::SingleThreadedExecutor executor_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace projected_control

#endif
