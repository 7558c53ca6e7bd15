// What is wrong with a simulated arm, as a file says: for tests of what is done about it.

#ifndef PROJECTED_CONTROL_FAULT_FILE_HPP
#define PROJECTED_CONTROL_FAULT_FILE_HPP

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace projected_control {

enum class Fault { none, wrench_nan, wrench_frozen, state_nan, state_frozen, time_nan, time_frozen };

class FaultFile {
 public:
  ~FaultFile() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // Reads the file again and again, in a thread of its own; nothing where it has no name.
  void watch(const std::string &path) {
    if (path.empty() || thread_.joinable()) return;
    thread_ = std::thread([this, path] {
      while (!ends_) {
        std::string word;
        std::ifstream(path) >> word;
        fault_ = named(word);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }

  Fault now() const { return fault_; }

 private:
  static Fault named(const std::string &word) {
    if (word == "wrench_nan") return Fault::wrench_nan;
    if (word == "wrench_frozen") return Fault::wrench_frozen;
    if (word == "state_nan") return Fault::state_nan;
    if (word == "state_frozen") return Fault::state_frozen;
    if (word == "time_nan") return Fault::time_nan;
    if (word == "time_frozen") return Fault::time_frozen;
    return Fault::none;
  }

  std::atomic<bool> ends_{false};
  std::atomic<Fault> fault_{Fault::none};
  std::thread thread_;
};

}  // namespace projected_control

#endif
