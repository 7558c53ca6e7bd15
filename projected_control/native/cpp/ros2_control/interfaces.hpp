// Reading and commanding ros2_control's interfaces, which another thread may hold at any moment.

#ifndef PROJECTED_CONTROL_INTERFACES_HPP
#define PROJECTED_CONTROL_INTERFACES_HPP

#include <chrono>
#include <cstddef>
#include <limits>
#include <thread>
#include <type_traits>
#include <vector>

namespace projected_control {

// Reading an interface without waiting for its lock: NaN, which the guard answers, where it is not
// to be had. Older releases have get_value alone.
template <typename Interface>
auto value_of(const Interface &interface, int) -> decltype(interface.get_optional(), double()) {
  return interface.get_optional().value_or(std::numeric_limits<double>::quiet_NaN());
}
template <typename Interface>
double value_of(const Interface &interface, long) {
  return interface.get_value();
}

// Whether it was taken: an interface that another thread holds at this moment keeps what it had.
template <typename Interface>
bool set_value(Interface &interface, double value) {
  if constexpr (std::is_void_v<decltype(interface.set_value(value))>) {
    interface.set_value(value);
    return true;
  } else {
    return interface.set_value(value);
  }
}

struct Taking {
  std::size_t at_first = 0; /* interfaces that did not take it at once */
  std::size_t never = 0;    /* that had not taken it when the time was over */
};

// Gives all of them a value, each at once, then those that did not take it again and again until
// they have, or the time is over. It sleeps in between: who holds the interface may need this core.
template <typename Interfaces>
Taking set_all(
    Interfaces &interfaces, double value, std::chrono::microseconds patience,
    std::chrono::microseconds pause = std::chrono::microseconds(50)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < interfaces.size(); ++i)
    if (!set_value(interfaces[i], value)) left.push_back(i);
  const std::size_t at_first = left.size();
  while (!left.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(pause);
    std::vector<std::size_t> still;
    for (const std::size_t i : left)
      if (!set_value(interfaces[i], value)) still.push_back(i);
    left.swap(still);
  }
  return {at_first, left.size()};
}

}  // namespace projected_control

#endif
