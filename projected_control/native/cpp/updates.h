/* Messages between the nodes and the plugin: what they are made of, read and written.
 *
 * A message is a header of 64 bytes and sections, each an identity, a type, a count and its
 * elements; see projected_control/native/updates.py, from which projected_control_updates.h is
 * generated. Nothing here needs ROS, and nothing here is called from a control cycle.
 */
#ifndef PROJECTED_CONTROL_UPDATES_CODEC_H
#define PROJECTED_CONTROL_UPDATES_CODEC_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "projected_control_kernels.h"
#include "projected_control_updates.h"

namespace projected_control {

/* Why something was not accepted: one of PROJECTED_CONTROL_STATUS_…, and words. */
struct Verdict {
  int64_t status = PROJECTED_CONTROL_STATUS_ACCEPTED;
  std::string reason;

  bool accepted() const { return status == PROJECTED_CONTROL_STATUS_ACCEPTED; }
};

Verdict refused(int64_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The elements of one section; they lie in the message. */
struct Section {
  bool there = false;
  uint32_t type = 0;
  int64_t count = 0;
  const void *data = nullptr;

  const double *reals() const { return static_cast<const double *>(data); }
  const int64_t *wholes() const { return static_cast<const int64_t *>(data); }
  const char *text() const { return static_cast<const char *>(data); }
};

/* A message that was read: kind, whose it is, and its sections. */
class Message {
 public:
  uint32_t kind = 0;
  uint64_t session = 0, sequence = 0;
  uint32_t check = 0; /* its checksum */

  /* Takes a copy of the bytes. Refused where anything of the frame is wrong: size, magic, version,
   * digest, checksum, sections. Session and sequence are known as far as the header could be read. */
  Verdict read(const uint8_t *bytes, size_t size);

  /* A section, which is not there for one that the message does not have. */
  const Section &section(uint32_t id) const;

  /* Refused where a section is missing or not of this length. */
  Verdict expect(uint32_t id, int64_t count) const;

 private:
  std::vector<uint64_t> words_;  // whole words, so that doubles lie as they must
  std::vector<Section> sections_;
};

/* A message that is being written. */
class Writer {
 public:
  Writer(uint32_t kind, uint64_t session, uint64_t sequence, int64_t status = 0);

  void reals(uint32_t id, const double *data, int64_t count);
  void wholes(uint32_t id, const int64_t *data, int64_t count);
  void text(uint32_t id, const std::string &text);

  /* The whole message, with size, number of sections and checksum. */
  const std::vector<uint8_t> &finish();

 private:
  void section(uint32_t id, uint32_t type, int64_t count, const void *data, size_t bytes);

  std::vector<uint8_t> bytes_;
  uint32_t sections_ = 0;
};

/* zlib's CRC-32. */
uint32_t checksum(const uint8_t *bytes, size_t size);

}  // namespace projected_control

#endif
