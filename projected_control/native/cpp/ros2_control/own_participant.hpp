// Messages that must not wait for anything in the manager's process: signs of life.

#ifndef PROJECTED_CONTROL_OWN_PARTICIPANT_HPP
#define PROJECTED_CONTROL_OWN_PARTICIPANT_HPP

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "rclcpp/rclcpp.hpp"

#include "own_thread.hpp"

namespace projected_control {

/* One subscription in a context of its own, made and run by a thread that has real-time priority
 * where the system permits it. The middleware's threads inherit that priority. Those of the manager
 * are ordinary ones: on a busy computer they delivered signs of life 0.4 s late which had been sent
 * every 20 ms, and a node that lived was taken for dead. */
template <typename Message>
class OwnParticipant {
 public:
  /* Args: topic: its full name. name, space: of the node that listens. */
  template <typename Callback>
  OwnParticipant(
      const std::string &topic, const rclcpp::QoS &quality, const std::string &name,
      const std::string &space, size_t domain, Callback callback) {
    std::promise<void> ready;
    std::future<void> listens = ready.get_future();
    thread_ = std::thread([this, &ready, topic, quality, name, space, domain, callback] {
      const sched_param wanted{OwnThread::priority};
      pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted);  // or as it is
      try {
        listen(topic, quality, name, space, domain, callback);
      } catch (...) {
        ready.set_exception(std::current_exception());
        return;
      }
      ready.set_value();
      // Not spin(): a cancel that comes before it would be lost.
      while (!end_.load() && rclcpp::ok(context_))
        executor_->spin_once(std::chrono::milliseconds(100));
    });
    try {
      listens.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }

  ~OwnParticipant() {
    end_.store(true);
    executor_->cancel();
    thread_.join();
    subscription_.reset();
    executor_.reset();
    node_.reset();
    context_->shutdown("the controller is cleaned up");
  }

  OwnParticipant(const OwnParticipant &) = delete;
  OwnParticipant &operator=(const OwnParticipant &) = delete;

 private:
  template <typename Callback>
  void listen(
      const std::string &topic, const rclcpp::QoS &quality, const std::string &name,
      const std::string &space, size_t domain, const Callback &callback) {
    context_ = std::make_shared<rclcpp::Context>();
    rclcpp::InitOptions start;
    start.auto_initialize_logging(false);
    start.set_domain_id(domain);
    start.shutdown_on_signal = false;
    context_->init(0, nullptr, start);
    rclcpp::NodeOptions options;
    options.context(context_).use_global_arguments(false).start_parameter_services(false);
    options.start_parameter_event_publisher(false).enable_rosout(false);
    node_ = std::make_shared<rclcpp::Node>(name, space, options);
    subscription_ = node_->create_subscription<Message>(topic, quality, callback);
    rclcpp::ExecutorOptions run;
    run.context = context_;
    executor_ = std::make_unique<rclcpp::executors::SingleThreadedExecutor>(run);
    executor_->add_node(node_);
  }

  rclcpp::Context::SharedPtr context_;
  rclcpp::Node::SharedPtr node_;
  typename rclcpp::Subscription<Message>::SharedPtr subscription_;
  std::unique_ptr<rclcpp::executors::SingleThreadedExecutor> executor_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace projected_control

#endif
