/* Letters to a running loop: put together and checked where there is time, taken by cycles, whole.
 *
 * A letter holds all gains and limits, and the tables of references and the masses of the arm's
 * bodies where these are new. Most letters go through the mailbox that the tick looks into. One that
 * needs longer tables, or brings other masses, goes as a parcel: a mailbox and tables of their own,
 * made and filled beforehand, into which the next cycle moves. A cycle only exchanges pointers and
 * copies numbers; it neither allocates nor waits.
 */
#ifndef PROJECTED_CONTROL_LETTERS_H
#define PROJECTED_CONTROL_LETTERS_H

#include <atomic>
#include <memory>
#include <vector>

#include "arm_message.h"
#include "tables.h"

namespace projected_control {

class Letters {
 public:
  ~Letters();

  /* The letter with which a loop begins, which lies in its tick's mailbox; and its arm once more, to
   * compare masses with. */
  Verdict begin(
      const Message &begin, const struct projected_control_tick &tick, const Sizes &sizes,
      double period);

  /* A letter from the deciding side, if it is one. By one thread at a time. */
  Verdict post(const Message &message);

  /* What the cycle that follows is to take: nothing new where the deciding side is silent. By the
   * thread that ticks. */
  void take(
      bool silent, struct projected_control_tick &tick,
      struct projected_control_answer_silence &silence, projected_control_arm *arm);

  /* Numbers at a letter's beginning that say which one it is, and which versions are in force. */
  int64_t applied() const { return applied_; }

 private:
  struct Load {
    std::vector<double> masses, centres, inertias; /* empty where they stay */
  };
  struct Parcel {
    int64_t number = 0;
    std::vector<double> mailbox, taken, reference, force_reference;
    Load load;
  };

  Verdict compose(const Message &message, std::vector<double> &letter, Sizes &sizes) const;
  Verdict read_load(const Message &message, Load &load);
  void send(std::vector<double> letter, const Sizes &sizes, Load load);

  /* Of the thread that posts. */
  projected_control_arm *arm_ = nullptr; /* never that of the tick */
  Sizes sizes_;
  double period_ = 0.0;
  int64_t head_ = 0, applied_ = 0, versions_ = 0; /* where parts of a letter end and begin */
  std::vector<double> last_; /* the last letter that was accepted */
  double *mailbox_ = nullptr;
  std::vector<std::unique_ptr<Parcel>> parcels_;
  int64_t count_ = 0;

  std::atomic<Parcel *> offered_{nullptr};
  std::atomic<int64_t> in_use_{0}; /* the parcel into which the cycles have moved */

  /* Of the thread that ticks. */
  double *current_ = nullptr; /* its mailbox */
};

}  // namespace projected_control

#endif
