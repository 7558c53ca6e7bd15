/* A mutex whose holder runs at the priority of the thread that waits for it.
 *
 * The thread that receives signs of life has real-time priority, the one that writes reports has
 * not. With an ordinary mutex a report that the scheduler has put aside on a busy computer keeps
 * the receiver waiting, and a node that lives counts as silent.
 */
#ifndef PROJECTED_CONTROL_INHERITING_MUTEX_H
#define PROJECTED_CONTROL_INHERITING_MUTEX_H

#include <pthread.h>

namespace projected_control {

class InheritingMutex {
 public:
  InheritingMutex() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  ~InheritingMutex() { pthread_mutex_destroy(&mutex_); }
  InheritingMutex(const InheritingMutex &) = delete;
  InheritingMutex &operator=(const InheritingMutex &) = delete;

  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace projected_control

#endif
