/* The live block of a running loop: changed where there is time, taken by cycles, whole.
 *
 * The block holds every number that may change while a loop runs (projected_control/control/live.py
 * declares its slots). A change is a message with all of it, and the tables of references where these
 * are new. Most changes go through the mailbox that the tick looks into. One that needs longer tables,
 * or brings other bodies, goes as a spare block with tables of its own, made and filled beforehand,
 * into which the next cycle moves. A cycle only exchanges pointers and copies numbers; it neither
 * allocates nor waits.
 */
#ifndef PROJECTED_CONTROL_LIVE_BLOCK_H
#define PROJECTED_CONTROL_LIVE_BLOCK_H

#include <atomic>
#include <memory>
#include <vector>

#include "arm_message.h"
#include "tables.h"

namespace projected_control {

/* A block of the right length, against the one that it follows: every number by what its slot
 * declares, limits, sensor, impedance and tables by what they mean. */
Verdict check_block(const double *block, const double *before, const Sizes &s, double period);

class LiveBlock {
 public:
  ~LiveBlock();

  /* The block with which a loop begins, which lies in its tick's mailbox; and its arm once more, to
   * compare bodies with. */
  Verdict begin(
      const Message &begin, const struct projected_control_tick &tick, const Sizes &sizes,
      double period);

  /* A change from the deciding side, if it is one. By one thread at a time. */
  Verdict post(const Message &message);

  /* What the cycle that follows is to take: nothing new where the deciding side is silent. By the
   * thread that ticks. */
  void take(
      bool silent, struct projected_control_tick &tick,
      struct projected_control_answer_silence &silence, projected_control_arm *arm);

  /* Numbers at a block's beginning that say which one it is, and which versions are in force. */
  int64_t applied() const { return 1 + PROJECTED_CONTROL_SLOTS; }

 private:
  struct Spare {
    int64_t number = 0;
    std::vector<double> mailbox, taken, reference, force_reference;
  };

  Verdict compose(const Message &message, std::vector<double> &block, Sizes &sizes) const;
  Verdict check_bodies(const Message &message, const double *bodies);
  void send(std::vector<double> block, const Sizes &sizes, bool new_bodies);

  /* Of the thread that posts. */
  projected_control_arm *arm_ = nullptr; /* never that of the tick */
  Sizes sizes_;
  double period_ = 0.0;
  int64_t head_ = 0;         /* numbers before the tables */
  std::vector<double> last_; /* the last block that was accepted */
  double *mailbox_ = nullptr;
  std::vector<std::unique_ptr<Spare>> spares_;
  int64_t count_ = 0;

  std::atomic<Spare *> offered_{nullptr};
  std::atomic<int64_t> in_use_{0}; /* the spare block into which the cycles have moved */

  /* Of the thread that ticks. */
  Sizes sizes_in_use_;
  double *current_ = nullptr; /* its mailbox */
};

}  // namespace projected_control

#endif
